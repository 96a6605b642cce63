# SPDX-License-Identifier: Apache-2.0
"""Stacks of Java threads on HotSpot are whole and true, method by method and with files and lines,
however their code is run: interpreted, as either compiler makes it, inlined, in a mixture, while
memory is cleared, code replaced, exceptions thrown.

A JVM says itself which methods are on its stacks (java_chains.py).
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
from decided import Share, assert_few, is_decided
from java_chains import LINK, MAIN, STUB, JavaChain, Verdict, is_own
from profcol_run import pipeline
from profile_files import Samples
from target_run import start_beacon
from variants import asked_for
from waiting import wait_until

RATE = 1999
TOGETHER = 4
# Tables of what a process runs are made when it is met: this is how long it is left for that. It is
# done when of so many stacks no more, in 1,000, are cut for lack of tables.
KNOWN_S = 2
KNOWN_STACKS, UNKNOWN_SHARE = 1000, 10
WITHOUT_TABLES = ("[process not in the unwind tables]", "[code not in the unwind tables]")
# CPU time of a round, after which is decided whether more samples are needed, and at most so many.
BURN_MS = 2500
ROUNDS = 8
LEAST_SEEN = 50  # samples of each leaf
LEAST_LINKS = 4  # places of a method that is compiled anew all the time
START_BOUND_S = 300
SHOWN = 10  # of each kind of fault, the most frequent ones

JVMS = pathlib.Path("/usr/lib/jvm")
JDKS = {"17": JVMS / "java-17-openjdk-amd64", "25": JVMS / "temurin-25-jdk-amd64"}
INSTALLED_BY_SETUP = "17"
FLAGS = (
    "-XX:+StartAttachListener",
    "-XX:-UsePerfData",
    "-XX:CompileCommand=quiet",
    "-Xmx64m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+ShowHiddenFrames",
    "-XX:MaxJavaStackTraceDepth=10000",
)
NOT_INLINED = (f"-XX:CompileCommand=dontinline,{MAIN}*::*",)
# Leaves that do not keep at what they do, but are come to again and again.
FLEETING = ("touch", "raise")
# Those that are loops of which compiled code tells, even if they were inlined.
LOOPS = ("spin",)
# Of samples of the others, that are on the way there: a turn is of 40 ms.
TRANSIT = Share(fine=0.005, fault=0.02)
# Leaves that a version does not have.
MISSING = {"jdk-8": ("pause",)}
# Methods that a leaf may call, one in the other.
CALLED = {"copy": 3, "hash": 8, "checksum": 4, "deflate": 8, "clock": 1, "sine": 3, "pause": 1}
CALLED |= {"invoke": 6, "cast": 0, "spread": 1, "ask": 1}
ALL_WAYS = ("spin", "touch", "copy", "hash", "touch", "checksum", "deflate", "touch", "clock")
ALL_WAYS += ("sine", "touch", "pause")

SERIAL = "-XX:+UseSerialGC"
AT_ONCE = "-XX:-BackgroundCompilation"


@dataclasses.dataclass(frozen=True)
class Case:
    """A way to run the program, with the shares of samples that may be none of its true stacks, that
    may be cut, that may lack a name, and whose lines may be others."""

    name: str
    flags: tuple
    ways: tuple = ALL_WAYS
    calls: int = 6000  # until all is compiled
    excluded: tuple = ()  # methods that are not compiled
    is_interpreted: bool = False
    is_changing: bool = False
    is_inlined: bool = False  # methods of its own, into each other
    wrong: Share = Share(fine=0.0005, fault=0.002)
    cut: Share = Share(fine=0.0005, fault=0.002)
    unnamed: Share = Share(fine=0.0005, fault=0.002)
    stray: Share = Share(fine=0.0005, fault=0.002)

    def command(self, without=()):
        """The arguments of the JVM; of the ways none of those `without`."""
        excluded = [f"-XX:CompileCommand=exclude,{method}" for method in self.excluded]
        last = ["fresh"] if self.is_changing else []
        inlined = () if self.is_inlined else NOT_INLINED
        flags = [*FLAGS, *self.flags, *inlined, *excluded]
        ways = [way for way in self.ways if way not in without]
        return [*flags, MAIN, ",".join(ways), self.calls, *last]


CASES = [
    Case(
        "interpreted",
        ("-Xint", SERIAL),
        calls=100,
        is_interpreted=True,
        # The JVM's own code that copies arrays has no tables: a guess there is marked as one.
        cut=Share(fine=0.02, fault=0.06),
    ),
    Case("c1", ("-XX:TieredStopAtLevel=1", SERIAL, AT_ONCE)),
    Case("c2", (SERIAL, AT_ONCE)),
    Case("inlined", (SERIAL, AT_ONCE), is_inlined=True),
    Case("inlined_c1", ("-XX:TieredStopAtLevel=1", SERIAL, AT_ONCE), is_inlined=True),
    Case("parallel", ("-XX:+UseParallelGC", AT_ONCE), is_inlined=True),
    Case(
        "mixed",
        (SERIAL, AT_ONCE),
        excluded=tuple(
            f"{MAIN}{method}"
            for method in (".longs", ".many", ".caught", "$Square.measure", ".handled", ".sine")
        ),
    ),
    Case(
        "collecting",
        ("-XX:+UseG1GC", "-Xmx24m", AT_ONCE),
        ("allocate", "touch", "copy"),
        cut=Share(fine=0.0025, fault=0.01),
    ),
    Case(
        "changing",
        (SERIAL, "-Xmx24m", "-XX:ReservedCodeCacheSize=16m"),
        ("touch", "spin", "touch", "touch", "copy"),
        is_changing=True,
        cut=Share(fine=0.001, fault=0.004),
        # Code may be gone before its name is read.
        unnamed=Share(fine=0.02, fault=0.06),
    ),
    Case("casting", ("-XX:TieredStopAtLevel=1", SERIAL, AT_ONCE), ("cast", "spin")),
    Case("spreading", ("-XX:TieredStopAtLevel=1", SERIAL, AT_ONCE), ("spread", "spin")),
    Case("asking", ("-XX:TieredStopAtLevel=1", SERIAL, AT_ONCE), ("ask", "spin")),
    Case("invoking", (SERIAL, AT_ONCE), ("invoke", "spin")),
    Case("throwing", (SERIAL, AT_ONCE), ("raise", "spin"), cut=Share(fine=0.0025, fault=0.01)),
]
# What make test shows: code of every kind in one stack, and code that is replaced.
REPRESENTATIVE = {"17": ("mixed", "inlined", "changing")}
# What make test-all shows beyond; all others are run by hand.
THOROUGH = {
    "17": ("interpreted", "collecting", "throwing"),
    "25": ("mixed", "inlined_c1", "changing", "casting", "asking"),
}


def cases():
    """The sanitized program runs what make test shows, and no other case a second time."""
    for version in JDKS:
        for case in CASES:
            mark = pytest.mark.runtimes
            if case.name in THOROUGH.get(version, ()):
                mark = pytest.mark.thorough
            elif case.name in REPRESENTATIVE.get(version, ()):
                mark = pytest.mark.sanitized
            yield pytest.param(version, case, id=f"{version}-{case.name}", marks=mark)


pytestmark = pytest.mark.parametrize(("version", "case"), list(cases()))


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
            leaf: tuple(map(java_chains.read_method, reversed(methods)))
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

    def begin(self):
        self._lists = [java_chains.read_code_list(self.target.pid)]
        self.target.process.stdin.write(b"go\n")
        self.target.process.stdin.flush()

    def burn(self):
        """A round: until the thread to be judged has run for so long; the map of its code."""
        self.target.process.send_signal(signal.SIGCONT)
        goal = self._cpu_ms() + BURN_MS
        wait_until(lambda: self._cpu_ms() >= goal, f"CPU time of {self.case.name}", START_BOUND_S)
        self._lists.append(java_chains.read_code_list(self.target.pid))
        # Not killed: a process that is being taken apart has no stack to compare with.
        self.target.process.send_signal(signal.SIGSTOP)
        return java_chains.CodeList(*self._lists)


class Tables:
    """Those that are made of what the process `pid` runs, as its `samples` show."""

    def __init__(self, samples, pid):
        self._samples, self._pid = samples, pid
        self._last = None

    def _read(self):
        ends = collections.Counter()
        for sample in self._samples.of(self._pid):
            ends[sample.mark in WITHOUT_TABLES] += sample.count
        return ends.total(), ends[True]

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

    def __init__(self, program, code, samples):
        self.case = program.case
        self.code = code
        self.chains = {
            leaf: JavaChain(
                methods, CALLED.get(leaf, 0) if self.case.is_interpreted else None
            )
            for leaf, methods in program.methods.items()
        }
        # Counters of samples: by leaf and verdict, and by verdict of how they look.
        self.verdicts = collections.defaultdict(collections.Counter)
        self.looks = collections.defaultdict(collections.Counter)
        self.strays = collections.Counter()
        self.stray = 0
        for sample in samples:
            self._add(sample)

    def _add(self, sample):
        before, _, leaf = sample.labels.get("comm", "").partition("in_")
        if before or leaf not in self.chains:
            return
        judged = self.chains[leaf].judge(sample.frames)
        self.verdicts[leaf][judged.verdict] += sample.count
        self.looks[judged.verdict][leaf, *judged.shown] += sample.count
        self.stray += sample.count if judged.strays else 0
        for stray in judged.strays:
            self.strays[stray] += sample.count

    def total(self, verdict=None, leaves=None):
        chosen = [self.verdicts[leaf] for leaf in leaves or self.verdicts]
        return sum(seen[verdict] if verdict else seen.total() for seen in chosen)

    def shares(self):
        """(Share, samples that are bad, of how many) of each kind of fault."""
        cut = self.total(Verdict.CUT)
        total = self.total() - self.total(Verdict.LATE)
        lasting = {leaf for leaf in self.chains if not self._may_end_before(leaf)}
        return {
            "cut": (self.case.cut, cut, total),
            "wrong": (self.case.wrong, self.total(Verdict.WRONG), total - cut),
            "without a name": (self.case.unnamed, self.total(Verdict.UNNAMED), total - cut),
            "at other lines": (self.case.stray, self.stray, self.total(Verdict.TRUE)),
            "on the way": (TRANSIT, self.total(Verdict.TRANSIT, lasting), total - cut),
        }

    def _may_end_before(self, leaf):
        """Of code that was inlined it is not always known that it runs."""
        return leaf in FLEETING or (self.case.is_inlined and leaf not in LOOPS)

    def seen(self, leaf):
        counts = self.verdicts[leaf]
        before = self._may_end_before(leaf)
        return counts[Verdict.TRUE] + (counts[Verdict.TRANSIT] if before else 0)

    def is_enough(self):
        """Are there samples enough for a verdict on everything?"""
        return (
            is_decided(self.shares())
            and all(self.seen(leaf) >= LEAST_SEEN for leaf in self.chains)
            and (not self._has_links or self.code.count(LINK) >= LEAST_LINKS)
        )

    @property
    def _has_links(self):
        return self.case.is_changing and self.code.is_told

    def print(self, *verdicts):
        for leaf, seen in self.verdicts.items():
            counts = ", ".join(f"{seen[verdict]} {verdict.value}" for verdict in Verdict)
            print(f"{leaf}: {counts}")
        for verdict in verdicts:
            for look, count in self.looks[verdict].most_common(SHOWN):
                print(f"  {verdict.value}, {count}: {_look_text(*look)}")
        for stray, count in self.strays.most_common(SHOWN):
            print(f"  {count} at another line: {stray}")


@pytest.fixture(scope="module")
def jdks():
    """Those that are installed, by version."""
    return {version: path for version, path in JDKS.items() if (path / "bin/javac").exists()}


@pytest.fixture(scope="module")
def executables(jdks):
    """As `select` knows the JVMs."""
    return {"values": [str((path / "bin/java").resolve()) for path in jdks.values()]}


@pytest.fixture(scope="module")
def classes(jdks, source, tmp_path_factory):
    """classes(version): the folder with those of the program."""
    directory = tmp_path_factory.mktemp("classes")
    compiler = next(iter(jdks.values())) / "bin/javac"
    file = source / f"tests/targets/{MAIN}.java"
    subprocess.run([compiler, "--release", "17", "-d", directory, file], check=True, timeout=120)
    return lambda version: directory


@pytest.fixture(scope="module")
def start_java(jdks, classes, start_target_once, tmp_path_factory):
    """start_java(version, case): a JavaProgram."""
    directory = tmp_path_factory.mktemp("told")
    started = []
    options = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
    environment = {name: value for name, value in os.environ.items() if name not in options}

    def start(version, case):
        told = directory / f"{version}_{case.name}"
        with told.open("wb") as output:
            target = start_target_once(
                jdks[version] / "bin/java",
                "-cp",
                classes(version),
                *case.command(MISSING.get(version, ())),
                stdin=subprocess.PIPE,
                stdout=output,
                env=environment,
            )
        started.append(target.pid)
        return JavaProgram(case, target, told)

    yield start
    for pid in started:
        java_chains.remove_listener(pid)


@pytest.fixture(scope="module")
def seen(
    request, jdks, executables, start_java, start_profcol_once, start_target_once, tmp_path_factory
):
    """(version, name of a case) to Observed: every case under the profiler, some at a time, until
    there are samples enough, or ROUNDS of them.
    """
    directory = tmp_path_factory.mktemp("seen")
    chosen = [one for one in asked_for(request, "version", "case") if one[0] in jdks]
    beacon = start_beacon(start_target_once)
    receiver = {
        "samples_per_second": RATE,
        "timestamps": False,
        "select": {"include": [{"executable": executables}, {"pid": beacon.pid}]},
    }
    # A slow program could not write all of it in the end.
    exporters = {"pprof": {"directory": str(directory), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples, observed = Samples(directory), {}

    def begin(version, case):
        program = start_java(version, case)
        program.wait_ready()
        program.wait_known(Tables(samples, program.target.pid))
        program.begin()
        # At once: those that wait for the others must not go on meanwhile.
        return (version, case.name), program, program.burn()

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        burnt = list(pool.map(lambda one: begin(*one), chosen))
        for number in range(ROUNDS):
            samples.wait_latest()
            for key, program, code in burnt:
                observed[key] = Observed(program, code, samples.of(program.target.pid))
            more = [(key, program) for key, program, _ in burnt if not observed[key].is_enough()]
            if number + 1 < ROUNDS:
                burnt = list(pool.map(lambda one: (*one, one[1].burn()), more))
    run.stop()
    return observed


@pytest.fixture
def observed(version, case, jdks, request):
    """The Observed of this test; without its JDK the test is skipped, or fails in CI."""
    if version not in jdks:
        text = f"no JDK {version} in {JDKS[version]}; run: scripts/setup.sh test"
        if os.environ.get("CI") == "true" and version == INSTALLED_BY_SETUP:
            pytest.fail(text, pytrace=False)
        pytest.skip(text)
    return request.getfixturevalue("seen")[version, case.name]


def mutants(names):
    """Stacks that differ by a method that is left out, repeated or replaced by one of the others or
    by none of them. The leaf is where execution stood: it cannot be missing.
    """
    others = {*names[-8:], "java.lang.Object.hashCode", STUB}
    for at, name in enumerate(names):
        if not is_own(name):
            continue
        if names[at : at + 1] * 2 != names[at : at + 2]:
            yield names[:at] + (name,) + names[at:]
        if at + 1 == len(names):
            continue
        yield names[:at] + names[at + 1 :]
        for other in others - {name}:
            yield names[:at] + (other,) + names[at + 1 :]


def test_near_misses_are_not_among_its_stacks(case, observed):
    for chain in observed.chains.values():
        names = tuple(method.name for method in chain.methods)
        assert chain.judge_names(names) is Verdict.TRUE
        assert chain.judge_names(names[:-1]) is Verdict.TRANSIT
        for mutant in mutants(names):
            assert chain.judge_names(mutant) is Verdict.WRONG, mutant
        if case.is_interpreted:
            more = ("java.lang.Object.hashCode",) * (CALLED.get(chain.methods[-1].name, 9) + 1)
            assert chain.judge_names(names + more) is Verdict.WRONG


def test_its_stacks_are_whole(observed):
    observed.print(Verdict.CUT)
    assert_few(observed.shares(), "cut")


def test_its_stacks_are_true(observed):
    observed.print(Verdict.WRONG)
    assert_few(observed.shares(), "wrong")
    assert_few(observed.shares(), "on the way")


def test_its_methods_have_names_files_and_lines(observed):
    observed.print(Verdict.UNNAMED)
    assert_few(observed.shares(), "without a name")
    assert_few(observed.shares(), "at other lines")


def test_every_leaf_is_seen(observed):
    for leaf in observed.chains:
        assert observed.seen(leaf) >= LEAST_SEEN, leaf


def test_its_code_is_run_as_the_case_says(case, observed):
    if not observed.code.is_told:
        pytest.skip("before Java 9 a JVM does not list its code")
    own = {method.name for chain in observed.chains.values() for method in chain.methods[:-1]}
    own = {method for method in own if is_own(method)}
    if case.is_inlined:
        assert observed.code.own
    elif case.is_changing:
        assert observed.code.count(LINK) >= LEAST_LINKS
    elif case.is_interpreted:
        assert not observed.code.own
    else:
        compiled = own & observed.code.own
        assert own - compiled <= {f"{MAIN}.run", f"{MAIN}.runTurn", *case.excluded}
        assert not compiled & set(case.excluded)
