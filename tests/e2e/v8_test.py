# SPDX-License-Identifier: Apache-2.0
"""Stacks of Node.js are whole, and their functions, files and lines are the program's own: whatever
interprets or has compiled them, through builtins and native code, in generators, after
deoptimization.

The program tells which chains it had by marks in its own source (tests/targets/v8_chains.js);
v8_stacks.py compares.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil

import pytest

from decided import Share, assert_few, is_decided
from profcol_run import pipeline
from profile_files import Samples
from target_run import start_beacon
from v8_stacks import Observed, Verdict, told
from variants import asked_for, variants
from waiting import wait_until

RATE = 1999
TOGETHER = 2
START_BOUND_S = 300
# CPU time in which the program is met, its files are read, and its code is compiled.
SETTLE_MS = 3000
BURN_MS = 6000
ROUNDS = 8
LEAST_SEEN = 3  # samples of each chain

WRONG = Share(fine=0.0005, fault=0.003)
LINE = Share(fine=0.001, fault=0.005)
CUT = Share(fine=0.001, fault=0.005)
UNNAMED = Share(fine=0.002, fault=0.01)

# How the same program is run: the interpreter alone, and each compiler as early as it can be.
VARIANTS = {
    "usual": (),
    "interpreted": ("--no-opt", "--no-sparkplug"),
    "baseline": ("--always-sparkplug", "--no-opt"),
    "jitless": ("--jitless",),
}

pytestmark = pytest.mark.parametrize(
    "name", variants(["usual", "interpreted"], ["baseline", "jitless"], "usual")
)


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    node: pathlib.Path
    options: tuple = ()
    has_private_methods: bool = True


class Running:
    def __init__(self, program, source, folder, start_target):
        folder.chmod(0o755)
        text = (source / "tests/targets/v8_chains.js").read_text()
        if not program.has_private_methods:
            text = text.replace("#hidden", "hidden")
        self.path = folder / "v8_chains.js"
        self.path.write_text(text)
        self._told = folder / "chains"
        self._told.touch()
        with (folder / "errors").open("wb") as errors:
            self.target = start_target(
                program.node, *program.options, self.path, self._told, stderr=errors
            )

    def wait_ready(self):
        def is_ready():
            assert self.target.process.poll() is None, "it ended: see `errors` in its folder"
            return told(self._told)[1]

        wait_until(is_ready, "the program to be ready", START_BOUND_S, step_s=0.2)
        self.target.wait_burnt(SETTLE_MS)

    def observed(self, samples):
        chains, _ = told(self._told)
        return Observed(chains, samples, str(self.path))

    def end(self):
        self.target.kill()


def shares(observed):
    """(Share, samples that are bad, of how many) of each kind of fault."""
    total = observed.count()
    return {
        "wrong": (WRONG, observed.count(Verdict.WRONG), total),
        "of another line": (LINE, observed.count(Verdict.LINE), total),
        "cut": (CUT, observed.count(Verdict.CUT), total),
        "unnamed": (UNNAMED, observed.count(Verdict.UNNAMED), total),
    }


def missing_ways(observed):
    ways = {chain.way for chain in observed.chains.values()}
    return {way for way in ways if observed.verdicts[way][Verdict.TRUE] < LEAST_SEEN}


def is_enough(observed):
    return is_decided(shares(observed)) and not missing_ways(observed)


def observe(
    programs, source, start_profcol, start_target, directory, start=Running, is_enough=is_enough
):
    """Name to what was observed, of each of the programs, some at a time."""
    start_beacon(start_target)
    receiver = {
        "samples_per_second": RATE,
        "timestamps": False,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")

    def observe_one(program):
        folder = directory / program.name
        folder.mkdir()
        running = start(program, source, folder, start_target)
        running.wait_ready()
        samples.wait_latest()
        pid = running.target.process.pid
        before = len(samples.of(pid))
        for _ in range(ROUNDS):
            running.target.wait_burnt(BURN_MS)
            samples.wait_latest()
            observed = running.observed(samples.of(pid)[before:])
            if is_enough(observed):
                break
        running.end()
        return program.name, observed

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        found = dict(pool.map(observe_one, programs))
    run.stop()
    return found


def installed(request, options, kind=Program):
    """The machine's Node.js in those variants that `request`'s module is asked for; `options` has
    the arguments of each.
    """
    node = shutil.which("node")
    if not node:
        pytest.skip("no node: apt-get install nodejs")
    names = (name for name, in asked_for(request, "name"))
    return [kind(name, pathlib.Path(node), options[name]) for name in names]


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    return observe(
        installed(request, VARIANTS),
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("v8"),
    )


@pytest.fixture
def observed(name, seen):
    observed = seen[name]
    observed.print()
    return observed


def test_its_stacks_are_whole(name, observed):
    assert_few(shares(observed), "cut")


def test_its_frames_have_names(name, observed):
    assert_few(shares(observed), "unnamed")


def test_its_functions_are_true(name, observed):
    assert_few(shares(observed), "wrong")


def test_its_lines_are_true(name, observed):
    assert_few(shares(observed), "of another line")


def test_every_chain_is_seen(name, observed):
    assert not missing_ways(observed)
