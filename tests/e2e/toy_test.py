# SPDX-License-Identifier: Apache-2.0
"""Stacks of interpreted programs are whole and true, with names, files and lines, and the native
frames between them; by a toy interpreter, which knows its own stack (tests/targets/toy).

It is known to programs only that are built with tests.
"""
import collections
import os
import pathlib
import re
import subprocess
import time

import pytest

import pprof_file
from decided import Decision, Share, assert_few, assert_rare, is_decided
from own_pids import number_of
from profcol_run import pipeline, profile_paths
from toy_chains import ToyChains, without_kernel
from true_chains import Verdict
from waiting import wait_until

RATE = 1999
# Tables and names are made when code is met: samples from before the first true stack of the
# program, and from so many seconds after it, are not judged.
WARM_S = 3
FLAGS = ("-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-pthread")
JDK = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64")
JAVA_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx64m", "-Xint")
JAVA_TURNS = 20  # ToyBeside.TURNS

WRONG = Share(fine=0.00005, fault=0.0045)
# Between two places where time is spent.
TRANSIT = Share(fine=0.08, fault=0.15)
SAMPLES_MOST = 30000
CHAINS = 26  # of all its threads
# What called the first function of a thread's stack.
THREAD = r"run libc\.so\.6( libc\.so\.6)?"
MAIN = r"run main libc\.so\.6 libc\.so\.6 _start"

pytestmark = pytest.mark.sanitized


def _knows_toy(path):
    return path.exists() and b"\0runtime_toy\0" in path.read_bytes()


@pytest.fixture(scope="session")
def program(program, source):
    """The program under test, or, where that is one that is shipped, the one with sanitizers."""
    for path in (program, source / "build/dev/profcol"):
        if _knows_toy(path):
            return path
    build = "cmake --preset dev && cmake --build --preset dev"
    text = f"no program that knows the toy interpreter; run: {build}"
    return (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(text)


def _compile(source, path, *flags):
    files = [source / f"tests/targets/toy/{name}.c" for name in ("toy", "program")]
    subprocess.run(["gcc", *FLAGS, *flags, *files, "-o", path], check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def toy(source, tmp_path_factory):
    """The path of the toy interpreter with its programs."""
    return _compile(source, tmp_path_factory.mktemp("toy") / "toy")


class Observed:
    """What was sampled of one process, since `since_ns` and WARM_S after the first true stack that
    a place called `behind` stands behind."""

    def __init__(self, chains, pid, since_ns=0, behind=None):
        self.chains, self.pid, self.since_ns, self.first = chains, pid, since_ns, behind
        self._late_ns = None  # what is younger counts
        self.verdicts, self.names, self.seen = (collections.Counter() for _ in range(3))
        self.wrong, self.behind = collections.Counter(), collections.Counter()

    def add(self, profile):
        self.chains.learn()
        if profile.time_ns < self.since_ns:
            return
        for sample in profile.of_pid(self.pid):
            judged = self.chains.judge(sample)
            if not self._late_ns and self._is_known(judged):
                self._late_ns = profile.time_ns + WARM_S * 1_000_000_000
            if not self._late_ns or profile.time_ns < self._late_ns:
                continue
            self.verdicts[judged.verdict] += sample.count
            self.names.update({kind: sample.count * n for kind, n in judged.names.items()})
            if judged.verdict is Verdict.TRUE:
                self.seen[judged.chain] += sample.count
                self.behind[" ".join(judged.behind)] += sample.count
            elif judged.verdict is Verdict.WRONG:
                self.wrong[judged.shown] += sample.count

    def _is_known(self, judged):
        is_named = judged.verdict is Verdict.TRUE and judged.names["named"]
        return is_named and self.first in (None, *judged.behind)

    @property
    def total(self):
        return self.verdicts.total()

    def shares(self):
        """(Share, samples that are bad, of how many) of each kind of fault."""
        on_the_way = self.verdicts[Verdict.TRANSIT] + self.verdicts[Verdict.ELSEWHERE]
        return {
            "wrong stacks": (WRONG, self.verdicts[Verdict.WRONG], self.total),
            "stacks on the way": (TRANSIT, on_the_way, self.total),
        }

    def is_enough(self, wants_fresh=True):
        return (
            (is_decided(self.shares()) or self.total >= SAMPLES_MOST)
            and self.chains.chains <= set(self.seen)
            and (not wants_fresh or (self.names["fresh"] and self.names["gone"]))
        )

    def assert_few(self, what):
        for shown, count in self.wrong.most_common(5):
            print(f"  {count}: {' '.join(shown[:40])} ... {' '.join(shown[-12:])}"[:1500])
        print(self.verdicts, self.names)
        assert_few(self.shares(), what)


def _watch(directory, observed, **options):
    """`observed` is told of all samples until there are enough."""
    read = set()

    def is_enough():
        for path in profile_paths(directory):
            if path not in read:
                read.add(path)
                observed.add(pprof_file.read(path))
        return observed.is_enough(**options)

    wait_until(is_enough, "samples enough", step_s=0.3)


def _pipeline(directory, select):
    receiver = {
        "samples_per_second": RATE,
        "timestamps": False,
        "symbolization_wait": "2s",
        "select": {"include": [select]},
    }
    return pipeline(
        receiver=receiver, exporters={"pprof": {"directory": str(directory), "interval": "1s"}}
    )


@pytest.fixture(scope="module")
def seen(toy, start_profcol_once, start_target_once, tmp_path_factory):
    """The Observed of the toy's programs."""
    directory = tmp_path_factory.mktemp("seen")
    run = start_profcol_once(_pipeline(directory, {"executable": {"values": [str(toy)]}}))
    run.wait_ready()
    target = start_target_once(toy, directory / "chains")
    observed = Observed(ToyChains(toy, directory / "chains"), target.pid)
    _watch(directory, observed)
    run.stop()
    return observed


@pytest.mark.parametrize("what", ["wrong stacks", "stacks on the way"])
def test_its_stacks_are_true(seen, what):
    seen.assert_few(what)


def test_every_chain_is_seen_to_its_root(seen):
    assert len(seen.chains.chains) == CHAINS
    assert not [chain for chain in seen.chains.chains if not seen.seen[chain]]
    # Those that are deeper than the limit have none.
    strays = [text for text in seen.behind if text and not re.fullmatch(f"{MAIN}|{THREAD}", text)]
    assert not strays


def mutants(chain, places):
    """Every chain that differs from `chain` by one frame that is left out, repeated or replaced.
    The leaf is where execution stood: it can be neither missing nor another.
    """
    for at in range(len(chain) - 1):
        yield chain[:at] + chain[at + 1 :]
        yield chain[:at] + chain[at : at + 1] + chain[at:]
        for other in places - {chain[at]}:
            yield chain[:at] + (other,) + chain[at + 1 :]


def test_near_misses_are_not_among_its_chains(seen):
    chains = seen.chains.chains
    places = {place for chain in chains for place in chain} | {"memcpy"}
    for chain in chains:
        # All turns of a recursion are alike: of the deepest their beginning does.
        near = {mutant + chain[9:] for mutant in mutants(chain[:9], places)}
        if 9 < len(chain) < 100:
            near |= {chain[:8] + mutant for mutant in mutants(chain[8:], places)}
        assert not near & chains - {chain}


def test_functions_that_end_have_their_own_name_or_none(seen):
    # Another one's would be a wrong stack.
    assert seen.names["fresh"] and seen.names["gone"]


def test_metrics_tell_what_is_known_and_named(
    toy, start_profcol_apart, start_target_apart, tmp_path
):
    target = start_target_apart(toy, tmp_path / "chains")
    select = {"pid": number_of(target.pid)}
    run = start_profcol_apart(_pipeline(tmp_path / "out", select)).wait_ready()

    def names(result):
        return run.metrics().value("profcol_runtime_frames", runtime="toy", result=result)

    def processes(state):
        return run.metrics().value("profcol_runtime_processes", runtime="toy", state=state)

    wait_until(lambda: names("named") and names("gone"), "names that are read, and that are gone")
    assert (processes("known"), processes("unknown")) == (1, 0)
    for result in ("malformed", "unreadable", "runtime_unknown", "no_answer"):
        assert names(result) == 0, result
    target.kill()
    wait_until(lambda: processes("known") == 0, "the end of the process to be known")
    assert run.metrics().value("profcol_runtime_walks_refused") == 0
    run.stop()


# ---- hostile memory ----

UNREADABLE = "[unreadable stack memory]"
LATE = "[name not read in time]"
# By the oddity of a thread: what its leaf may be called, and how often; and its mark.
ODD = {
    "circle": ({"circle"}, 1024, "[max_stack_depth]"),
    "nowhere": ({"odd_loop"}, 1, UNREADABLE),
    "no_code": ({"odd_loop"}, 1, UNREADABLE),
    "long_name": ({"[name in malformed memory]", LATE}, 1, None),
    "lost_name": ({"[name in unreadable memory]", LATE}, 1, None),
    "odd_name": ({"a??(??[2J?b"}, 1, None),
    "ending": ({"ending", "[name gone before it was read]", LATE}, 1, None),
    "stranger": ({"odd_loop"}, 1, None),
}


class OddSamples:
    """Samples of a process whose memory lies, by the oddity of the thread."""

    def __init__(self, pid):
        self._pid, self._late_ns = pid, None
        self.seen, self.wrong = collections.Counter(), collections.Counter()

    def add(self, profile):
        for sample in profile.of_pid(self._pid):
            odd = sample.labels.get("comm")
            names = [frame.name for frame in without_kernel(sample.frames)]
            if not self._late_ns and names.count("circle") > 1:
                self._late_ns = profile.time_ns + WARM_S * 1_000_000_000
            if odd not in ODD or not self._late_ns or profile.time_ns < self._late_ns:
                continue
            self.seen[odd] += sample.count
            leaves, times, mark = ODD[odd]
            is_right = names[0] in leaves and names[:times] == times * names[:1]
            behind = [mark] if mark else ["odd_call", "run"]
            if not is_right or names[times : times + len(behind)] != behind:
                self.wrong[odd, *names[:4], len(names)] += sample.count

    def is_enough(self):
        total = self.seen.total()
        return set(self.seen) == set(ODD) and (
            WRONG.decide(self.wrong.total(), total) is not Decision.OPEN
        )


def test_memory_that_lies_is_not_believed(
    source, start_profcol_apart, start_target_apart, tmp_path
):
    program = tmp_path / "odd"
    file = source / "tests/targets/toy/odd.c"
    subprocess.run(["gcc", *FLAGS, file, "-o", program], check=True, timeout=120)
    target = start_target_apart(program)
    pid = number_of(target.pid)
    run = start_profcol_apart(_pipeline(tmp_path / "out", {"pid": pid})).wait_ready()
    samples = OddSamples(pid)
    _watch(tmp_path / "out", samples)

    def names(result):
        return run.metrics().value("profcol_runtime_frames", runtime="toy", result=result)

    assert names("malformed") and names("unreadable") and names("gone")
    run.stop()
    print(samples.seen, samples.wrong.most_common(10))
    assert_rare(WRONG, [(samples.wrong.total(), samples.seen.total())], "wrong stacks")


# ---- beside another runtime ----


@pytest.fixture
def java_toy(source, start_target_apart, tmp_path):
    """A JVM that runs a toy program, whose library is the file `library`."""
    if not (JDK / "bin/javac").exists():
        text = f"no JDK in {JDK}; run: scripts/setup.sh test"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(text)
    library = _compile(source, tmp_path / "libtoy.so", "-shared", "-fPIC")
    file = source / "tests/targets/toy/ToyBeside.java"
    subprocess.run([JDK / "bin/javac", "-d", tmp_path, file], check=True, timeout=120)
    target = start_target_apart(
        JDK / "bin/java",
        *JAVA_FLAGS,
        "-cp",
        tmp_path,
        "ToyBeside",
        library,
        stdout=subprocess.PIPE,
        env=os.environ | {"TOY_CHAINS": str(tmp_path / "chains")},
    )
    target.library = library
    assert target.process.stdout.readline() == b"ready\n"
    return target


def test_two_runtimes_share_a_stack(java_toy, start_profcol_apart, tmp_path):
    select = {"pid": number_of(java_toy.pid)}
    run = start_profcol_apart(_pipeline(tmp_path / "out", select)).wait_ready()
    chains = ToyChains(java_toy.library, tmp_path / "chains")
    for name in ("toy", "hotspot"):
        wait_until(
            lambda: run.metrics().value("profcol_runtime_processes", runtime=name, state="known") == 1,
            f"{name} to be known",
        )
    # Toy's frames have names while the program is loaded still that knows Java's, too.
    main = "ToyBeside.main@ToyBeside.java:26"
    observed = Observed(chains, number_of(java_toy.pid), time.time_ns(), main)
    _watch(tmp_path / "out", observed, wants_fresh=False)
    assert run.metrics().value("profcol_runtime_walks_refused") == 0
    run.stop()
    print(observed.behind)
    observed.assert_few("wrong stacks")
    # The native method and what calls it, all turns, main, and what the JVM calls it by.
    java = (
        r"ToyBeside\.forest@ToyBeside\.java:0 ToyBeside\.turn@ToyBeside\.java:17"
        + r" ToyBeside\.turn@ToyBeside\.java:16" * (JAVA_TURNS - 1)
        + r" ToyBeside\.main@ToyBeside\.java:26 StubRoutines \(\d\)@:0"
    )
    whole = rf"Java_ToyBeside_forest {java}( libjvm\.so)+( libjli\.so)+ libc\.so\.6( libc\.so\.6)?"
    assert not [text for text in observed.behind if not re.fullmatch(whole, text)]
