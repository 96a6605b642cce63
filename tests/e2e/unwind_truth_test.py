# SPDX-License-Identifier: Apache-2.0
"""Stacks of native programs, against those that the programs know they had."""
import collections
import concurrent.futures
import dataclasses
import os
import re
import signal
import subprocess
import time

import pytest

import pprof_file
import shadow_file
from profcol_run import pipeline, profile_paths
from true_chains import FRAME_LIMIT, TrueChains, Verdict
from unwind_targets import TARGETS, Missing, build
from waiting import wait_until

# Many samples of each target in little time: 1,400 at least of one that burns for a second.
RATE = 1999
TOGETHER = 8
# Unwind tables are made when code is met: what comes earlier is told, but not judged.
WARM_S = 2
CHECK_ROUNDS = 48  # every target has been through all of its chains
FOREIGN = "memcpy"

pytestmark = pytest.mark.parametrize("name", [target.name for target in TARGETS])


@dataclasses.dataclass(frozen=True)
class Built:
    target: object
    path: object
    symbols: object

    def chains(self, path):
        """TrueChains by what a run of it has written to `path`."""
        return TrueChains(self.target, self.path, self.symbols, shadow_file.read(path))


class Observed:
    """What was sampled of one target; what counts is from `late_ns` on."""

    def __init__(self, checker, elsewhere, late_ns):
        self.checker = checker
        self._elsewhere = elsewhere  # as a Target has it
        self._late_ns = late_ns
        # Counters of samples: by verdict, and of late ones by stack and by chain.
        self.early, self.late, self.wrong, self.true = (collections.Counter() for _ in range(4))

    def add(self, sample, time_ns):
        """`time_ns`: no sample of its file is older."""
        judged = self.checker.judge(sample.frames)
        if time_ns < self._late_ns:
            self.early[judged.verdict] += sample.count
            return
        self.late[judged.verdict] += sample.count
        if self._is_wrong(judged):
            self.wrong[judged.shown] += sample.count
        elif judged.verdict is Verdict.TRUE:
            self.true[judged.chain] += sample.count

    def _is_wrong(self, judged):
        if judged.verdict is Verdict.ELSEWHERE and self._elsewhere and judged.shown:
            return not re.fullmatch(self._elsewhere, judged.shown[-1])
        return judged.verdict in (Verdict.WRONG, Verdict.ELSEWHERE)


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """Name to Built, or to the reason why it is Missing."""
    directory = tmp_path_factory.mktemp("unwind")

    def build_one(target):
        try:
            return target.name, Built(target, *build(target, source / "tests/targets", directory))
        except Missing as missing:
            return target.name, missing

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(build_one, TARGETS))


@pytest.fixture
def target(built, name):
    """The Built of this test; without its compiler the test is skipped, or fails in CI."""
    found = built[name]
    if isinstance(found, Missing):
        if os.environ.get("CI") == "true" and found.is_installed_by_setup:
            pytest.fail(str(found), pytrace=False)
        pytest.skip(str(found))
    return found


def _run_together(programs, start_target, directory):
    """Runs some targets until each has burnt enough; {pid: (Built, when its samples count)}."""
    running = [
        (one, start_target(one.path, directory / one.target.name, stdout=subprocess.DEVNULL))
        for one in programs
    ]
    late_ns = time.time_ns() + WARM_S * 1_000_000_000
    wait_until(lambda: time.time_ns() >= late_ns, "the targets to be known")
    goals = [target.cpu_ms() + one.target.burn_ms for one, target in running]
    for (one, target), goal in zip(running, goals):
        what = f"CPU time for {one.target.name}"
        wait_until(lambda: target.cpu_ms() >= goal, what, bound_s=120)
    # Not killed: a process that is being taken apart has no stack to compare with.
    for _, target in running:
        target.process.send_signal(signal.SIGSTOP)
    return {target.pid: (one, late_ns) for one, target in running}


@pytest.fixture(scope="module")
def seen(built, start_profcol_once, start_target_once, tmp_path_factory):
    """Name to (TrueChains, Seen): every target under the profiler, some at a time."""
    directory = tmp_path_factory.mktemp("seen")
    exporters = {"pprof": {"directory": str(directory / "out"), "interval": "1s"}}
    receiver = {"samples_per_second": RATE, "timestamps": False, "symbolization_wait": "2s"}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    programs = [one for one in built.values() if isinstance(one, Built)]
    runs = {}
    for at in range(0, len(programs), TOGETHER):
        runs |= _run_together(programs[at : at + TOGETHER], start_target_once, directory)
    run.stop()

    observed = {
        pid: Observed(one.chains(directory / one.target.name), one.target.elsewhere, late_ns)
        for pid, (one, late_ns) in runs.items()
    }
    for path in profile_paths(directory / "out"):
        profile = pprof_file.read(path)
        for sample in profile.samples:
            if sample.labels.get("pid") in observed:
                observed[sample.labels["pid"]].add(sample, profile.time_ns)
    return {one.target.name: observed[pid] for pid, (one, _) in runs.items()}


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
    subprocess.run([target.path, tmp_path / "shadow", str(CHECK_ROUNDS)], check=True, timeout=60)
    return target.chains(tmp_path / "shadow")


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
    """99.9 % of them, from the leaf to the entry of the program or thread."""
    wanted, observed = target.target, seen[target.target.name]
    late = observed.late
    print(f"{wanted.name}: {_told(late)}; in the first {WARM_S} s: {_told(observed.early)}")
    for shown, count in observed.wrong.most_common(5):
        print(f"  {count}: {' '.join(shown)}"[:600])
    assert late.total() >= 1000, "too few samples to judge by"
    assert observed.wrong.total() <= 0.001 * late.total()
    assert late[Verdict.TRANSIT] <= wanted.transit * late.total()


def test_every_chain_is_seen(target, seen):
    if not target.target.covers:
        pytest.skip("which chains of this program are seen whole is left to chance")
    observed = seen[target.target.name]
    missing = [chain for chain in observed.checker.leaf_chains() if not observed.true[chain]]
    assert not missing
