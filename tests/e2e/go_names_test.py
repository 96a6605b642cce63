# SPDX-License-Identifier: Apache-2.0
"""Functions, files and lines of Go's frames are those that runtime.CallersFrames has: inlined ones,
wrappers left out, through closures, generics, defers, panics and C; stripped, and wherever it is
loaded.
"""
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import shutil

import pytest

import go_programs
from decided import Decision, Share, assert_rare
from profcol_run import pipeline
from profile_files import Samples
from variants import asked_for, variants
from waiting import wait_until

RATE = 1999
TOGETHER = 2
# CPU time before it is judged, and of a round after which is looked whether all chains were seen.
SETTLE_MS = 1500
BURN_MS = 6000
ROUNDS = 8

# A sample may be taken while a walk is cut or a name is not there yet.
WRONG = Share(fine=0.001, fault=0.004)

_STRIP = "-ldflags=-s -w"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    flags: tuple = ()
    has_c: bool = False


CASES = (
    Case("plain"),
    Case("stripped", (_STRIP, "-trimpath")),
    Case("pie_stripped", ("-buildmode=pie", _STRIP)),
    Case("c", has_c=True),
    Case("c_stripped", (_STRIP,), has_c=True),
    Case("c_pie_stripped", ("-buildmode=pie", _STRIP), has_c=True),
)

# Where the stack of a goroutine and that of C meet: Go's own account shows other functions there
# than those that have run, and until Go 1.20 the frame pointer skips one (unwind/README.md).
_BESIDE = re.compile(
    r"(runtime\.(asmcgocall|cgocall|systemstack(_switch)?)|gosave_.*|crosscall2)(\.abi0)?$"
)


def build(go, case, source, directory, name=None):
    """The path of the program, by the Go at `go`."""
    sources = source / "tests/targets/go_names"
    return go_programs.build(go, sources, directory / (name or case.name), case.flags, case.has_c)


def told(path):
    """The chains that the program has had: tuples of (function, file, line, first line)."""
    text = path.read_text(errors="replace") if path.exists() else ""
    # Of its last line it may have written a part so far.
    lines = text[: text.rfind("\n") + 1].splitlines()
    chains = [map(tuple, json.loads(line)) for line in lines if line.startswith("[[")]
    return {
        tuple(part for part in chain if not _BESIDE.search(part[0])) for chain in chains
    }, "done" in lines


def is_of_go(frame):
    """Is it one that Go's own account of a stack has?"""
    return bool(frame.source) and not _BESIDE.search(frame.name or "")


def chain_of(sample):
    """What called main.burn, as told() has it; None of samples that are elsewhere."""
    names = [frame.name for frame in sample.frames]
    if "main.burn" not in names or "main.tell" in names:
        return None
    at = names.index("main.burn")
    return tuple(
        (frame.name, frame.source, frame.line, frame.start_line)
        for frame in sample.frames[at + 1 :]
        if is_of_go(frame)
    )


def without_start(chain):
    return tuple(part[:3] for part in chain)


@dataclasses.dataclass
class Observed:
    told: set
    seen: collections.Counter  # of chains that it had
    wrong: collections.Counter  # of others

    def counts(self):
        """(wrong, all) samples."""
        return self.wrong.total(), self.wrong.total() + self.seen.total()

    def is_enough(self):
        """Each chain was seen, and it is decided whether there are others."""
        return self.told == self.seen.keys() and WRONG.decide(*self.counts()) is not Decision.OPEN

    def print(self):
        print(f"{len(self.told)} chains, {len(self.seen)} seen", end=", ")
        print(f"{sum(self.seen.values())} samples of them, {sum(self.wrong.values())} others")
        for chain, count in self.wrong.most_common(5):
            print(count, "times:")
            nearest = max(self.told, key=lambda one: len(set(one) & set(chain)))
            for part in chain:
                print("    ", "  " if part in nearest else "! ", *part)
            print("     nearest:")
            for part in nearest:
                print("    ", "  " if part in chain else "! ", *part)


def observe_samples(chains, samples):
    has_starts = any(part[3] for chain in chains for part in chain)
    key = (lambda chain: chain) if has_starts else without_start
    known = {key(chain) for chain in chains}
    observed = Observed(known, collections.Counter(), collections.Counter())
    for sample in samples:
        chain = chain_of(sample)
        if chain is not None:
            to = observed.seen if key(chain) in known else observed.wrong
            to[key(chain)] += sample.count
    return observed


def observe(programs, start_profcol, start_target, directory):
    """Name to Observed, of all the programs, some at a time."""
    receiver = {
        "samples_per_second": RATE,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")

    def observe_one(name, path):
        account = directory / f"{name}.chains"
        target = start_target(path, account)
        wait_until(lambda: told(account)[1], f"{name} to tell of its chains")
        # What was sampled before the file had been read may have names without lines.
        target.wait_burnt(SETTLE_MS)
        samples.wait_latest()
        before = len(samples.of(target.pid))
        for _ in range(ROUNDS):
            target.wait_burnt(BURN_MS)
            samples.wait_latest()
            observed = observe_samples(told(account)[0], samples.of(target.pid)[before:])
            if observed.is_enough():
                break
        target.kill()
        return name, observed

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        found = dict(pool.map(lambda one: observe_one(*one), programs.items()))
    run.stop()
    return found


def check(observed):
    """Every chain was seen, and no other."""
    observed.print()
    missing = observed.told - observed.seen.keys()
    for chain in missing:
        print("not seen:", *chain, sep="\n     ")
    assert not missing and len(observed.told) >= 40
    assert_rare(WRONG, [observed.counts()], "stacks that the program did not have")


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not installed")
    directory = tmp_path_factory.mktemp("go_names")
    cases = {case.name: case for case in CASES if not case.has_c or shutil.which("gcc")}
    asked = [name for name, in asked_for(request, "case") if name in cases]
    programs = {name: build(go, cases[name], source, directory) for name in asked}
    return observe(programs, start_profcol_once, start_target_once, directory)


@pytest.mark.parametrize(
    "case",
    variants(["plain", "c_pie_stripped"], ["stripped", "pie_stripped", "c", "c_stripped"]),
)
def test_chains_are_those_of_the_runtime(case, seen):
    if case not in seen:
        pytest.skip("gcc is not installed")
    check(seen[case])


@pytest.mark.thorough
def test_without_symbolization_there_are_names_and_no_lines(
    source, start_profcol, start_target, tmp_path
):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    path = build("go", Case("plain"), source, tmp_path)
    target = start_target(path, tmp_path / "chains")
    receiver = {
        "interpreters": {"go": {"symbolization": {"disabled": True}}},
        "select": {"include": [{"pid": target.pid}]},
    }
    run = start_profcol(pipeline(tmp_path / "profiles", receiver)).wait_ready()
    target.wait_burnt(SETTLE_MS)
    run.stop()
    frames = {
        frame
        for sample in Samples(tmp_path / "profiles").of(target.pid)
        for frame in sample.frames
        if frame.file.endswith("/plain")
    }
    assert "main.burn" in {frame.name for frame in frames}
    assert not any(frame.line or frame.source for frame in frames)
