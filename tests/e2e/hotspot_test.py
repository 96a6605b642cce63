# SPDX-License-Identifier: Apache-2.0
"""Stacks of Java threads on HotSpot are whole and true, however their code is run: interpreted, as
either compiler makes it, in a mixture, while memory is cleared, code replaced, exceptions thrown.

A JVM says itself which methods are on its stacks and where their code lies (java_chains.py).
"""
import collections
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import signal
import subprocess
import time

import pytest

import java_chains
from java_chains import INTERPRETED, LINK, MAIN, OTHER_METHOD, STUB, UNKNOWN
from java_chains import JavaChain, Verdict, is_own
from profcol_run import pipeline, read_samples
from waiting import wait_until

RATE = 1999
TOGETHER = 4
# Tables of what a process runs are made when it is met: this is how long it is left for that. It is
# done when of so many stacks no more, in 1,000, are cut for lack of tables.
KNOWN_S = 2
KNOWN_STACKS, UNKNOWN_SHARE = 1000, 10
# CPU time that each is judged by, for half as many samples again as are asked for, and these.
BURN_MS = 1500
SAMPLES = 2000
START_BOUND_S = 120
SHOWN = 10  # of each kind of fault, the most frequent ones

JVMS = pathlib.Path("/usr/lib/jvm")
JDKS = {"17": JVMS / "java-17-openjdk-amd64", "25": JVMS / "temurin-25-jdk-amd64"}
INSTALLED_BY_SETUP = "17"
FLAGS = (
    "-XX:+StartAttachListener",
    "-XX:-UsePerfData",
    "-XX:CompileCommand=quiet",
    f"-XX:CompileCommand=dontinline,{MAIN}*::*",
    "-Xmx64m",
)
# Leaves that do not keep at what they do, but are come to again and again.
FLEETING = ("touch", "raise")
# Of 1,000 samples of the others, that are on the way there: a turn is of 40 ms.
TRANSIT = 10
# Methods that a leaf may call, one in the other.
CALLED = {"copy": 3, "hash": 8, "checksum": 4, "deflate": 8, "clock": 1, "sine": 3, "pause": 1}
ALL_WAYS = ("spin", "touch", "copy", "hash", "touch", "checksum", "deflate", "touch", "clock")
ALL_WAYS += ("sine", "touch", "pause")

_SERIAL = "-XX:+UseSerialGC"
_AT_ONCE = "-XX:-BackgroundCompilation"


@dataclasses.dataclass(frozen=True)
class Case:
    """A way to run the program, with how many of 1,000 samples may be none of its true stacks, and
    how many cut."""

    name: str
    flags: tuple
    ways: tuple = ALL_WAYS
    calls: int = 6000  # until all is compiled
    excluded: tuple = ()  # methods that are not compiled
    is_interpreted: bool = False
    is_changing: bool = False
    wrong: float = 1
    cut: float = 1

    @property
    def command(self):
        excluded = [f"-XX:CompileCommand=exclude,{method}" for method in self.excluded]
        last = ["fresh"] if self.is_changing else []
        flags = [*FLAGS, *self.flags, *excluded]
        return [*flags, MAIN, ",".join(self.ways), self.calls, *last]


CASES = [
    Case("interpreted", ("-Xint", _SERIAL), calls=100, is_interpreted=True),
    Case("c1", ("-XX:TieredStopAtLevel=1", _SERIAL, _AT_ONCE)),
    Case("c2", (_SERIAL, _AT_ONCE)),
    Case(
        "mixed",
        (_SERIAL, _AT_ONCE),
        excluded=tuple(
            f"{MAIN}{method}"
            for method in (".longs", ".many", ".caught", "$Square.measure", ".handled", ".sine")
        ),
    ),
    Case(
        "collecting",
        ("-XX:+UseG1GC", "-Xmx24m", _AT_ONCE),
        ("allocate", "touch", "copy"),
        cut=5,
    ),
    Case(
        "changing",
        (_SERIAL, "-Xmx24m", "-XX:ReservedCodeCacheSize=16m"),
        ("touch", "spin", "touch", "touch", "copy"),
        is_changing=True,
        cut=2,
    ),
    Case("throwing", (_SERIAL, _AT_ONCE), ("raise", "spin"), cut=5),
]

pytestmark = [
    pytest.mark.sanitized,
    pytest.mark.parametrize("case", CASES, ids=lambda case: case.name),
    pytest.mark.parametrize("version", JDKS),
]


class JavaProgram:
    """One that runs; `target`: its Target, whose output is in the file `told`."""

    def __init__(self, case, target, told):
        self.case = case
        self.target = target
        self._told = told
        self._start_s = time.monotonic()

    def _is_ready(self):
        assert self.target.process.poll() is None, f"it ended:\n{self._told.read_text()}"
        return self._told.read_text().endswith("ready\n")

    def wait_ready(self):
        wait_until(self._is_ready, f"Java, {self.case.name}", START_BOUND_S)
        lines = [line.split() for line in self._told.read_text().splitlines()]
        ((_, self.thread),) = (line for line in lines if line[0] == "thread")
        # Leaf to methods, root first.
        self.methods = {
            leaf: tuple(map(java_chains.without_numbers, reversed(methods)))
            for word, leaf, *methods in (line for line in lines if line[0] == "chain")
        }

    def _cpu_ms(self):
        stat = pathlib.Path(f"/proc/{self.target.pid}/task/{self.thread}/stat").read_text()
        ticks = sum(map(int, stat.rpartition(")")[2].split()[11:13]))
        return ticks * 1000 // os.sysconf("SC_CLK_TCK")

    def wait_known(self, tables):
        known_s = self._start_s + KNOWN_S
        wait_until(lambda: time.monotonic() >= known_s, "the program to be known")
        wait_until(tables.are_made, "the tables of all programs", START_BOUND_S, step_s=0.3)

    def burn(self):
        """Until the thread that is to be judged has run for long enough; the map of its code."""
        first = java_chains.read_code_map(self.target.pid)
        goal = self._cpu_ms() + BURN_MS
        self.target.process.stdin.write(b"go\n")
        self.target.process.stdin.flush()
        wait_until(lambda: self._cpu_ms() >= goal, f"CPU time of {self.case.name}", START_BOUND_S)
        last = java_chains.read_code_map(self.target.pid, is_last=True)
        # Not killed: a process that is being taken apart has no stack to compare with.
        self.target.process.send_signal(signal.SIGSTOP)
        return java_chains.CodeMap(first, last, self.case.is_changing)


class Tables:
    """Those that `run` makes of what programs run."""

    def __init__(self, run):
        self._run = run
        self._last = None

    def _read(self):
        stacks = self._run.metrics().of("profcol_unwind_stacks")
        ends = {labels["end"]: value for labels, value in stacks}
        return sum(ends.values()), ends.get("no_page", 0) + ends.get("no_process", 0)

    def are_made(self):
        """As far as the stacks show that were sampled since it was asked before."""
        total, cut = self._read()
        last_total, last_cut = self._last = self._last or (total, cut)
        if total - last_total < KNOWN_STACKS:
            return False
        self._last = total, cut
        return cut - last_cut <= UNKNOWN_SHARE / 1000 * (total - last_total)


def _look_text(leaf, *shown):
    runs = ((place, len(list(same))) for place, same in itertools.groupby(shown))
    text = " ".join(f"{place}*{n}" if n > 1 else place for place, n in runs)
    return f"{leaf}: {text}".replace(f"{MAIN}.", ".")


class Observed:
    """What was sampled of one program while its thread was called by the way that it went."""

    def __init__(self, program, code):
        self.case = program.case
        self.code = code
        self.chains = {
            leaf: JavaChain(
                methods,
                code,
                self.case.is_interpreted,
                CALLED.get(leaf, 0),
                self.case.is_changing,
            )
            for leaf, methods in program.methods.items()
        }
        # Counters of samples: by leaf and verdict, and by verdict of how they look.
        self.verdicts = collections.defaultdict(collections.Counter)
        self.looks = collections.defaultdict(collections.Counter)
        self.places = collections.defaultdict(collections.Counter)  # and where in its code
        self.links = set()  # addresses of the method that may be new, as far as is known

    def add(self, sample):
        before, _, leaf = sample.labels.get("comm", "").partition("in_")
        if before or leaf not in self.chains:
            return
        judged = self.chains[leaf].judge(sample.frames)
        self.verdicts[leaf][judged.verdict] += sample.count
        self.looks[judged.verdict][leaf, *judged.shown] += sample.count
        self.places[judged.verdict][self._place(sample)] += sample.count
        if judged.verdict in (Verdict.TRUE, Verdict.TRANSIT):
            self.links.update(self._link_addresses(sample))

    def _place(self, sample):
        """Where the thread stood, or, if that is no code of Java, what it has called."""
        of_java = (frame for frame in sample.frames if not frame.file and frame.name is None)
        return next((self.code.place(frame.address) for frame in of_java), "nowhere in Java")

    def _link_addresses(self, sample):
        for frame in sample.frames:
            if not frame.file and self.code.kinds_at(frame.address) & {LINK, UNKNOWN}:
                yield frame.address

    def total(self, verdict=None, leaves=None):
        chosen = [self.verdicts[leaf] for leaf in leaves or self.verdicts]
        return sum(seen[verdict] if verdict else seen.total() for seen in chosen)

    def kinds(self):
        """What the frames of those are that are not wrong."""
        looks = (*self.looks[Verdict.TRUE], *self.looks[Verdict.TRANSIT])
        return {kind for _, *shown in looks for kind in shown}

    def print(self, *verdicts):
        for leaf, seen in self.verdicts.items():
            counts = ", ".join(f"{seen[verdict]} {verdict.value}" for verdict in Verdict)
            print(f"{leaf}: {counts}")
        for verdict in verdicts:
            for look, count in self.looks[verdict].most_common(SHOWN):
                print(f"  {verdict.value}, {count}: {_look_text(*look)}")
            for place, count in self.places[verdict].most_common(SHOWN):
                print(f"  {verdict.value}, {count} at {place}")


@pytest.fixture(scope="module")
def jdks():
    """Those that are installed, by version."""
    return {version: path for version, path in JDKS.items() if (path / "bin/javac").exists()}


@pytest.fixture(scope="module")
def classes(jdks, source, tmp_path_factory):
    directory = tmp_path_factory.mktemp("classes")
    compiler = next(iter(jdks.values())) / "bin/javac"
    file = source / f"tests/targets/{MAIN}.java"
    subprocess.run([compiler, "--release", "17", "-d", directory, file], check=True, timeout=120)
    return directory


@pytest.fixture(scope="module")
def start_java(jdks, classes, start_target_once, tmp_path_factory):
    """start_java(version, case): a JavaProgram."""
    directory = tmp_path_factory.mktemp("told")
    options = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
    environment = {name: value for name, value in os.environ.items() if name not in options}

    def start(version, case):
        told = directory / f"{version}_{case.name}"
        with told.open("wb") as output:
            target = start_target_once(
                jdks[version] / "bin/java",
                "-cp",
                classes,
                *case.command,
                stdin=subprocess.PIPE,
                stdout=output,
                env=environment,
            )
        return JavaProgram(case, target, told)

    return start


@pytest.fixture(scope="module")
def seen(jdks, start_java, start_profcol_once, tmp_path_factory):
    """(version, name of a case) to Observed: every case under the profiler, some at a time."""
    directory = tmp_path_factory.mktemp("seen")
    receiver = {"samples_per_second": RATE, "timestamps": False}
    # A slow program could not write all of it in the end.
    exporters = {"pprof": {"directory": str(directory), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()

    def run_one(version, case):
        program = start_java(version, case)
        program.wait_ready()
        program.wait_known(Tables(run))
        return program.target.pid, (version, case.name), Observed(program, program.burn())

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        runs = [pool.submit(run_one, version, case) for version in jdks for case in CASES]
    results = [one.result() for one in runs]
    run.stop()

    by_pid = {pid: observed for pid, _, observed in results}
    for sample in read_samples(directory):
        if observed := by_pid.get(sample.labels.get("pid")):
            observed.add(sample)
    return {key: observed for _, key, observed in results}


@pytest.fixture
def observed(version, case, jdks, request):
    """The Observed of this test; without its JDK the test is skipped, or fails in CI."""
    if version not in jdks:
        text = f"no JDK {version} in {JDKS[version]}; run: scripts/setup.sh test"
        if os.environ.get("CI") == "true" and version == INSTALLED_BY_SETUP:
            pytest.fail(text, pytrace=False)
        pytest.skip(text)
    return request.getfixturevalue("seen")[version, case.name]


def likely_frames(methods, code, is_interpreted):
    """A stack of these methods: those that are compiled under their own names."""
    for method in methods:
        if is_interpreted or is_own(method) and method not in code.own:
            yield frozenset({INTERPRETED})
        else:
            yield frozenset({method if is_own(method) else OTHER_METHOD})


def mutants(frames, names):
    """Stacks that differ by a compiled frame that is left out, repeated or replaced by one of the
    others or by none of them. The leaf is where execution stood: it cannot be missing.
    """
    others = {*frames[-8:], frozenset({OTHER_METHOD}), frozenset({STUB})}
    for at, frame in enumerate(frames):
        if not frame & names:
            continue
        yield frames[:at] + frames[at : at + 1] + frames[at:]
        if at + 1 == len(frames):
            continue
        yield frames[:at] + frames[at + 1 :]
        for other in others - {frame, frozenset({INTERPRETED})}:
            yield frames[:at] + (other,) + frames[at + 1 :]


def test_near_misses_are_not_among_its_stacks(case, observed):
    names = observed.code.own
    for leaf, chain in observed.chains.items():
        frames = tuple(likely_frames(chain.methods, observed.code, case.is_interpreted))
        assert chain.judge_methods(frames) is Verdict.TRUE
        assert chain.judge_methods(frames[:-1]) is Verdict.TRANSIT
        for mutant in mutants(frames, names):
            # An interpreted leaf may be any method that was called on the way.
            other = Verdict.TRANSIT if INTERPRETED in frames[-1] else Verdict.WRONG
            assert chain.judge_methods(mutant) in (Verdict.WRONG, other), f"{leaf}: {mutant}"
        if case.is_interpreted:
            more = (frozenset({INTERPRETED}),) * (CALLED.get(leaf, 0) + 1)
            assert chain.judge_methods(frames + more) is Verdict.WRONG


def test_its_stacks_are_whole(case, observed):
    observed.print(Verdict.CUT)
    total = observed.total()
    assert total >= SAMPLES, "too few samples to judge by"
    assert observed.total(Verdict.CUT) <= case.cut / 1000 * total


def test_its_stacks_are_true(case, observed):
    observed.print(Verdict.WRONG)
    whole = observed.total() - observed.total(Verdict.CUT)
    assert whole >= SAMPLES, "too few samples to judge by"
    assert observed.total(Verdict.WRONG) <= case.wrong / 1000 * whole
    lasting = set(observed.chains) - set(FLEETING)
    assert observed.total(Verdict.TRANSIT, lasting) <= TRANSIT / 1000 * whole


def test_every_leaf_is_seen(observed):
    for leaf in observed.chains:
        seen = observed.verdicts[leaf]
        on_the_way = seen[Verdict.TRANSIT] if leaf in FLEETING else 0
        assert seen[Verdict.TRUE] + on_the_way >= 50, leaf


def test_its_code_is_run_as_the_case_says(case, observed):
    own = {method for chain in observed.chains.values() for method in chain.methods[:-1]}
    own = {method for method in own if is_own(method)}
    compiled = own & observed.kinds()
    if case.is_changing:
        assert len(observed.links) >= 10
    elif case.is_interpreted:
        assert not compiled
    else:
        assert own - compiled <= {f"{MAIN}.run", f"{MAIN}.runTurn", *case.excluded}
        assert not compiled & set(case.excluded)
