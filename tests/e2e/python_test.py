# SPDX-License-Identifier: Apache-2.0
"""Stacks of Python are whole, and their functions, files and lines are the program's own: called
directly and through C, in generators, coroutines, threads, signal handlers, while memory is cleared.

The program tells which chains it had by its interpreter's own account
(tests/targets/python_chains.py); python_stacks.py compares.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess

import pytest

from decided import Share, assert_few, is_decided
from profcol_run import pipeline
from profile_files import Samples
from python_stacks import Observed, Told, Verdict
from target_run import start_beacon
from waiting import wait_until

RATE = 1999
TOGETHER = 2
START_BOUND_S = 300
# CPU time in which the program is met, and its files are read, before it is judged.
SETTLE_MS = 1500
# CPU time of a round, after which is decided whether more samples are needed, and at most so many.
BURN_MS = 6000
ROUNDS = 8
LEAST_SEEN = 3  # samples of each chain
# Ways of processes and of code that end soon after they began, and their names with them.
SHORT_LIVED = ("forked", "processes", "executed_once", "imported", "in_subinterpreter")

WAYS = "all"

MACHINE = pathlib.Path("/usr/bin/python3.11")

WRONG = Share(fine=0.0005, fault=0.002)
CUT = Share(fine=0.0005, fault=0.002)
UNNAMED = Share(fine=0.0005, fault=0.002)
TRANSIT = Share(fine=0.03, fault=0.08)

pytestmark = [pytest.mark.sanitized, pytest.mark.parametrize("name", ["machine"])]


@dataclasses.dataclass(frozen=True)
class Interpreter:
    name: str
    path: pathlib.Path
    minor: int
    options: tuple = ()
    variables: tuple = ()  # of the environment: (name, value)
    ways: str = WAYS

    @property
    def has_direct_calls(self):
        """Does it run functions that Python functions call without a native call?"""
        return self.minor >= 11 and "perf" not in self.options


class PythonProgram:
    """The chains' program, in an interpreter."""

    def __init__(self, interpreter, source, folder, start_target):
        self.interpreter = interpreter
        folder.chmod(0o755)
        self.path = folder / "python_chains.py"
        self.path.write_text((source / "tests/targets/python_chains.py").read_text())
        self._told = folder / "chains"
        self._told.touch()
        with (folder / "errors").open("wb") as self._errors:
            self.target = start_target(
                interpreter.path,
                *interpreter.options,
                self.path,
                folder,
                interpreter.ways,
                stdin=subprocess.PIPE,
                stderr=self._errors,
                env=os.environ | dict(interpreter.variables),
            )

    def told(self):
        return Told(self._told)

    def wait_ready(self):
        def is_ready():
            assert self.target.process.poll() is None, "it ended: see `errors` in its folder"
            return self.told().is_ready

        wait_until(is_ready, f"{self.interpreter.name} to be ready", START_BOUND_S, step_s=0.2)
        self.target.wait_burnt(SETTLE_MS)

    def begin(self):
        self.target.process.stdin.write(b"go\n")
        self.target.process.stdin.flush()

    def observed(self, samples):
        told = self.told()
        return Observed(told, samples.of(*told.pids), self.interpreter.has_direct_calls)


def shares(observed):
    """(Share, samples that are bad, of how many) of each kind of fault."""
    total = observed.count(without=SHORT_LIVED)
    wrong = observed.count(Verdict.WRONG)
    return {
        "cut": (CUT, observed.count(Verdict.CUT, without=SHORT_LIVED), total),
        "unnamed": (UNNAMED, observed.count(Verdict.UNNAMED, without=SHORT_LIVED), total),
        "wrong": (WRONG, wrong, observed.count()),
        "on the way": (TRANSIT, observed.count(Verdict.TRANSIT), observed.count()),
    }


def chains_to_see(observed):
    ways = observed.verdicts.keys() - set(SHORT_LIVED)
    return {chain for chain in observed.told.chains.values() if chain.way in ways}


def is_enough(observed):
    return (
        bool(observed.verdicts)
        and is_decided(shares(observed))
        and all(observed.seen[chain] >= LEAST_SEEN for chain in chains_to_see(observed))
    )


def observe(interpreters, source, start_profcol, start_target, directory):
    """Name to Observed, of the program in each of these interpreters, some at a time."""
    start_beacon(start_target)
    # Code that is made again and again has names of its own; a busy machine gives time for many.
    receiver = {
        "process_memory": "512MiB",
        "samples_per_second": RATE,
        "timestamps": False,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")

    def observe_one(interpreter):
        folder = directory / interpreter.name
        folder.mkdir()
        program = PythonProgram(interpreter, source, folder, start_target)
        program.wait_ready()
        program.begin()
        for number in range(ROUNDS):
            program.target.wait_burnt(BURN_MS)
            samples.wait_latest()
            observed = program.observed(samples)
            if is_enough(observed):
                break
        program.target.kill()
        return interpreter.name, observed

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        found = dict(pool.map(observe_one, interpreters))
    run.stop()
    return found


@pytest.fixture(scope="module")
def seen(source, start_profcol_once, start_target_once, tmp_path_factory):
    if not MACHINE.exists():
        pytest.skip(f"no {MACHINE}: another release of the system has another version")
    return observe(
        [Interpreter("machine", MACHINE, 11)],
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("python"),
    )


@pytest.fixture
def observed(name, seen):
    observed = seen[name]
    observed.print()
    return observed


def test_all_ways_are_gone(name, observed):
    assert not observed.told.failed
    # Some builds have no such module.
    may_lack = {"in_subinterpreter"}
    may_lack |= set() if name.endswith("-gevent") else {"greenlets", "gevents"}
    may_lack |= {"sqlite"} if name.endswith("-shared") else set()
    assert observed.told.missing.keys() <= may_lack


def test_its_stacks_are_whole(name, observed):
    assert_few(shares(observed), "cut")


def test_its_frames_have_names(name, observed):
    assert_few(shares(observed), "unnamed")


def test_its_stacks_are_true(name, observed):
    assert_few(shares(observed), "wrong")
    assert_few(shares(observed), "on the way")


def test_every_chain_is_seen(name, observed):
    missing = [chain for chain in chains_to_see(observed) if observed.seen[chain] < LEAST_SEEN]
    assert not missing, "\n".join(f"{chain.way}: {chain.short()}" for chain in missing)
