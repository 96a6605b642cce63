# SPDX-License-Identifier: Apache-2.0
"""Stacks of native programs, against those that the programs know they had."""
import collections
import concurrent.futures
import dataclasses
import os
import re
import subprocess
import time

import pytest

import pprof_file
import shadow_file
from decided import Decision, Share, assert_rare
from profcol_run import pipeline, profile_paths
from true_chains import FRAME_LIMIT, TrueChains, Verdict
from unwind_targets import TARGETS, Missing, build
from waiting import BOUND_S, wait_until

RATE = 1999  # many samples of each target in little time
TOGETHER = 12
# Unwind tables are made when code is met: samples from before a target's first true stack, and from
# so many seconds after it, are reported, but not judged.
WARM_S = 2
CHECK_ROUNDS = 48  # every target has been through all of its chains
FOREIGN = "memcpy"

# Of wrong stacks. One in a thousand is as good as fault: it passes every other time, as it did when
# 1,700 samples might have one (Poisson). Worse programs pass more seldom than they did then: 2 in
# a thousand pass once in 140 times, not once in 7, and 4.5 in a thousand once in a million times, not
# once in 250. A program that has none is decided by 3,100 samples; so many also have each of the
# rarest chains, which is one in 176 samples, but once in 40 million times.
_WRONG = Share(fine=0.00005, fault=0.0045)
_SAMPLES_MOST = 10 * _WRONG.least_samples()  # what is open then, stays so

pytestmark = pytest.mark.parametrize(
    "name",
    [
        pytest.param(target.name, marks=[pytest.mark.thorough] if target.thorough else [])
        for target in TARGETS
    ],
)


def _transit_share(most):
    """The Share of stacks on the way, which is as good as fault at `most`."""
    return Share(fine=0.65 * most, fault=1.5 * most)


@dataclasses.dataclass(frozen=True)
class Built:
    target: object
    path: object
    symbols: object

    def judged_by(self, shadow):
        """TrueChains by what a run of it has told."""
        return TrueChains(self.target, self.path, self.symbols, shadow)


class Question:
    """Whether a share of samples is fine: asked until it is decided, and not beyond."""

    def __init__(self, share):
        self.share = share
        self.bad = self.total = 0

    @property
    def is_open(self):
        return self.share.decide(self.bad, self.total) is Decision.OPEN

    def ask(self, bad, total):
        if self.is_open:
            self.bad, self.total = bad, total

    def assert_fine(self, what):
        assert_rare(self.share, [(self.bad, self.total)], what)


class Observed:
    """What was sampled of one target, which runs until there is enough to judge it by."""

    def __init__(self, built, shadow, process):
        self._built = built
        self.path = str(built.path)
        self._shadow = shadow  # where it tells of itself
        self.process = process
        self.checker = None  # until there is a sample of it
        self._late_ns = None  # what is younger counts
        self._heard_ns = time.time_ns()
        # Counters of samples: by verdict, and of late ones by stack and by chain.
        self.early, self.late, self.wrong, self.true = (collections.Counter() for _ in range(4))
        self.of_wrong = Question(built.target.wrong or _WRONG)
        self.of_transit = Question(_transit_share(built.target.transit))

    def add(self, samples, begin_ns, end_ns):
        """Those of a file, which has what was sampled between these times."""
        shadow = shadow_file.read(self._shadow) if self._shadow.exists() else None
        if not shadow or not shadow.chains:  # it has not come to its first function
            return
        self.checker = self.checker or self._built.judged_by(shadow)
        self.checker.learn(shadow)
        self._heard_ns = end_ns
        for sample in samples:
            self._judge(sample, begin_ns)
        if self.early[Verdict.TRUE] and not self._late_ns:
            self._late_ns = end_ns + WARM_S * 1_000_000_000
        self.of_wrong.ask(self.wrong.total(), self.late.total())
        self.of_transit.ask(self.late[Verdict.TRANSIT], self.late.total())

    def _judge(self, sample, begin_ns):
        judged = self.checker.judge(sample.frames)
        if not self._late_ns or begin_ns < self._late_ns:
            self.early[judged.verdict] += sample.count
            return
        self.late[judged.verdict] += sample.count
        if self._is_wrong(judged):
            self.wrong[judged.shown] += sample.count
        elif judged.verdict is Verdict.TRUE:
            self.true[judged.chain] += sample.count

    def _is_wrong(self, judged):
        elsewhere = self._built.target.elsewhere
        if judged.verdict is Verdict.ELSEWHERE and elsewhere and judged.shown:
            return not re.fullmatch(elsewhere, judged.shown[-1])
        return judged.verdict in (Verdict.WRONG, Verdict.ELSEWHERE)

    def missing(self):
        """Chains that it should be seen in, and has not been."""
        chains = self.checker.leaf_chains() if self.checker else ["any"]
        return [chain for chain in chains if not self.true[chain]]

    def is_over(self, read_ns):
        """Whether more samples would change nothing, or none come. `read_ns`: files have been read
        of what was sampled before that, which may be long ago on a busy machine.
        """
        silent_ns = read_ns - self._heard_ns
        if silent_ns > BOUND_S * 1_000_000_000 or self.late.total() >= _SAMPLES_MOST:
            return True
        wants_chains = self._built.target.covers and self.missing()
        return not (self.of_wrong.is_open or self.of_transit.is_open or wants_chains)


@pytest.fixture(scope="module")
def built(request, source, tmp_path_factory):
    """Name to Built, or to the reason why it is Missing, of those that are asked for."""
    directory = tmp_path_factory.mktemp("unwind")
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    wanted = {call.params.get("name") for call in calls if call}

    def build_one(target):
        try:
            return target.name, Built(target, *build(target, source / "tests/targets", directory))
        except Missing as missing:
            return target.name, missing

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(build_one, (one for one in TARGETS if one.name in wanted)))


@pytest.fixture
def target(built, name):
    """The Built of this test; without its compiler the test is skipped, or fails in CI."""
    found = built[name]
    if isinstance(found, Missing):
        if os.environ.get("CI") == "true" and found.is_installed_by_setup:
            pytest.fail(str(found), pytrace=False)
        pytest.skip(str(found))
    return found


class Watch:
    """Targets that run beside each other: as one is judged, the next one begins."""

    def __init__(self, programs, start_target, directory):
        self._waiting = list(programs)
        self._start_target = start_target
        self._directory = directory
        self._running = {}  # Observed by pid
        self._read = set()
        self._read_ns = 0
        self.over = {}  # Observed by name

    def run(self):
        """Until all are judged."""
        while self._fill():
            paths = wait_until(self._new_paths, "another file of samples")
            for path in paths:
                self._read_file(path)
                self._end_those_over()

    def _end_those_over(self):
        for pid, observed in list(self._running.items()):
            if observed.is_over(self._read_ns):
                self._running.pop(pid).process.kill()

    def _fill(self):
        while self._waiting and len(self._running) < TOGETHER:
            built = self._waiting.pop(0)
            shadow = self._directory / built.target.name
            process = self._start_target(built.path, shadow, stdout=subprocess.DEVNULL)
            observed = Observed(built, shadow, process)
            self._running[process.pid] = self.over[built.target.name] = observed
        return self._running

    def _new_paths(self):
        return [path for path in profile_paths(self._directory / "out") if path not in self._read]

    def _read_file(self, path):
        self._read.add(path)
        profile = pprof_file.read(path)
        self._read_ns = max(self._read_ns, profile.time_ns)
        samples = collections.defaultdict(list)
        for sample in profile.samples:
            pid = sample.labels.get("pid")
            observed = self._running.get(pid)
            # Before its exec it was the one who started it.
            if observed and sample.labels.get("process.executable.path") == observed.path:
                samples[pid].append(sample)
        for pid, found in samples.items():
            end_ns = profile.time_ns + profile.duration_ns
            self._running[pid].add(found, profile.time_ns, end_ns)


@pytest.fixture(scope="module")
def seen(built, start_profcol_once, start_target_once, tmp_path_factory):
    """Name to Observed: every target under the profiler."""
    directory = tmp_path_factory.mktemp("seen")
    exporters = {"pprof": {"directory": str(directory / "out"), "interval": "1s"}}
    programs = [one for one in built.values() if isinstance(one, Built)]
    # Samples of others would only have to be read.
    paths = {"values": [str(one.path) for one in programs]}
    receiver = {
        "samples_per_second": RATE,
        "timestamps": False,
        "symbolization_wait": "2s",
        "select": {"include": [{"executable": paths}]},
    }
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    watch = Watch(programs, start_target_once, directory)
    watch.run()
    run.stop()
    return watch.over


def _told(verdicts):
    return ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)


def mutants(chain, functions):
    """Every chain that differs from `chain`, leaf first, by one frame left out, repeated or
    replaced. The leaf is where execution stood: it can be neither missing nor another.
    """
    for at in range(len(chain)):
        yield chain[:at] + chain[at : at + 1] + chain[at:]
        if not at:
            continue
        yield chain[:at] + chain[at + 1 :]
        for other in (*functions, FOREIGN):
            if other != chain[at]:
                yield chain[:at] + (other,) + chain[at + 1 :]


@pytest.fixture
def told(target, tmp_path):
    """What the program tells of itself when nobody watches, as TrueChains."""
    subprocess.run([target.path, tmp_path / "shadow", str(CHECK_ROUNDS)], check=True, timeout=300)
    return target.judged_by(shadow_file.read(tmp_path / "shadow"))


def test_near_misses_are_not_among_its_chains(target, told):
    assert len(told.shadow.functions) == target.target.functions
    assert told.leaf_chains()
    if target.target.chains:
        assert set(told.shadow.chains) == target.target.chains
    for chain in told.leaf_chains():
        # What was cut says nothing of where it was cut.
        is_cut = len(chain) > FRAME_LIMIT
        judge = told.judge_cut if is_cut else told.judge_chain
        part = chain[: FRAME_LIMIT // 8] if is_cut else chain
        assert judge(chain[:FRAME_LIMIT]) is Verdict.TRUE
        for mutant in mutants(part, told.shadow.functions):
            near_miss = (mutant + chain[len(part) :])[:FRAME_LIMIT]
            assert near_miss == chain[:FRAME_LIMIT] or judge(near_miss) is Verdict.WRONG, (
                f"{mutant} cannot be told from {chain}"
            )


def test_its_stacks_are_true(target, seen):
    """From the leaf to the entry of the program or thread."""
    wanted, observed = target.target, seen[target.target.name]
    print(f"{wanted.name}: {_told(observed.late)}; before: {_told(observed.early)}")
    for shown, count in observed.wrong.most_common(5):
        print(f"  {count}: {' '.join(shown)}"[:600])
    observed.of_wrong.assert_fine("wrong stacks")
    observed.of_transit.assert_fine("stacks on the way")


def test_every_chain_is_seen(target, seen):
    if not target.target.covers:
        pytest.skip("which chains of this program are seen whole is left to chance")
    observed = seen[target.target.name]
    assert not observed.missing(), f"in {observed.late.total()} samples"
