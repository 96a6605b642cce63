# SPDX-License-Identifier: Apache-2.0
"""Stacks whose code is not known yet are walked in user space: by the same rules, to the same end."""
import collections
import concurrent.futures
import os
import platform
import shutil
import subprocess

import pytest

import pprof_file
import shadow_file
from decided import Share, assert_few, assert_rare, is_decided
from profcol_run import pipeline, profile_paths, read_samples
from profile_files import Samples
from true_chains import TrueChains, Verdict
from unwind_targets import TARGETS, Missing, Target, build
from waiting import wait_until

RATE = 1499
TOGETHER = 8
VERIFIED = 200  # samples of each program, walked twice
# On other stacks than the one that was copied, and what was not sampled before.
UNKNOWN = Share(fine=0.05, fault=0.15)
FIRST_RATE = 199
LIVES, ROUNDS = 45, 320  # a life takes some 60 ms
MORE = 4  # times so many lives decide at the latest
# Of a new file all has to be read first, within two seconds, on a machine that may be loaded: where
# that is too late for a sample, it is for most of that life.
CUT_LIVES = Share(fine=0.05, fault=0.4)
WRONG = Share(fine=0.002, fault=0.03)
GOROUTINES_MS = 2000
# Before the program is known, stacks are copied that lead to others which are not. Each of its
# threads begins in code that has a caller in the thread that started it.
CUT_GOROUTINES = Share(fine=0.001, fault=0.004)
GOROUTINES_CAP_MS = 30000


@pytest.fixture(scope="module")
def build_programs(source, tmp_path_factory):
    """build_programs(targets): [(target, path, symbols)] of those that can be built here."""
    directory = tmp_path_factory.mktemp("programs")
    built = {}

    def build_one(target):
        try:
            if target.name not in built:
                built[target.name] = target, *build(target, source / "tests/targets", directory)
        except Missing:
            return None
        return built[target.name]

    def build_all(targets):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return [one for one in pool.map(build_one, targets) if one]

    return build_all


def verified(run, result):
    return run.metrics().value("profcol_unwind_verified_stacks", result=result) or 0


def run_together(run, programs, start_target, directory):
    """Until enough of their stacks have been walked twice."""
    goal = verified(run, "equal") + VERIFIED * len(programs)
    running = [
        start_target(path, directory / f"{target.name}.shadow", stdout=subprocess.DEVNULL)
        for target, path, _ in programs
    ]
    for target in running:
        target.wait_burnt(VERIFIED * 1000 / RATE)
    wait_until(lambda: verified(run, "equal") >= goal, "stacks that were walked twice")
    for target in running:
        target.kill()


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(TARGETS[::4], id="some"),  # of each few that are alike
        pytest.param(TARGETS, id="all", marks=pytest.mark.thorough),
    ],
)
def test_a_walk_in_user_space_finds_what_the_kernels_finds(
    targets, build_programs, start_profcol, start_target, tmp_path
):
    programs = build_programs(targets)
    executables = {"executable": {"values": [str(path) for _, path, _ in programs]}}
    configuration = pipeline(
        tmp_path / "out",
        {"samples_per_second": RATE, "verify_walks": True, "select": {"include": [executables]}},
    )
    configuration["service"]["telemetry"] = {"logs": {"level": "debug"}}  # tells where they differ
    run = start_profcol(configuration).wait_ready()
    for at in range(0, len(programs), TOGETHER):
        run_together(run, programs[at : at + TOGETHER], start_target, tmp_path)
    seen = {result: verified(run, result) for result in ("equal", "different", "unknown")}
    run.stop()
    print(seen, *(line for line in run.log.splitlines() if "first different" in line), sep="\n")
    assert not seen["different"]
    total = seen["unknown"] + seen["equal"]
    assert_rare(UNKNOWN, [(seen["unknown"], total)], "walks that say nothing")


class FirstSamples:
    """What was sampled of programs of which each was a new file: by life and its marks, and by
    verdict of those that are whole."""

    def __init__(self):
        self.ends = collections.defaultdict(collections.Counter)
        self.verdicts = collections.Counter()

    def add(self, life, sample, checker):
        self.ends[life][sample.mark or "whole"] += sample.count
        if not sample.mark:
            self.verdicts[checker.judge(sample.frames).verdict] += sample.count

    def shares(self):
        """(Share, bad, total) of each question, by what is bad."""
        cut = sum(ends["whole"] < ends.total() for ends in self.ends.values())
        wrong = self.verdicts[Verdict.WRONG]
        return {
            "lives with stacks that were cut": (CUT_LIVES, cut, len(self.ends)),
            "stacks that are wrong": (WRONG, wrong, self.verdicts.total()),
        }

    def is_enough(self):
        return is_decided(self.shares())


def live(program, directory, start_profcol, seen):
    """LIVES more, under a profiler that has not seen any."""
    target, path, symbols = program
    directory.mkdir()
    receiver = {"samples_per_second": FIRST_RATE}
    run = start_profcol(pipeline(directory / "out", receiver)).wait_ready()
    lives = {}
    for life in range(LIVES):
        copy = shutil.copy(path, directory / f"life-{life}")
        process = subprocess.Popen([copy, directory / f"shadow-{life}", str(ROUNDS)])
        assert process.wait() == 0
        lives[process.pid] = life
    run.stop()
    for sample in read_samples(directory / "out"):
        life = lives.get(sample.labels.get("pid"))
        if life is None or not any(frame.file.startswith("/") for frame in sample.frames):
            continue
        shadow = shadow_file.read(directory / f"shadow-{life}")
        checker = TrueChains(target, directory / f"life-{life}", symbols, shadow)
        seen.add(directory / f"life-{life}", sample, checker)


@pytest.mark.thorough
def test_the_first_samples_of_a_new_file_are_whole(build_programs, start_profcol, tmp_path):
    (program,) = build_programs(target for target in TARGETS if target.name == "gcc_O0")
    seen = FirstSamples()
    for number in range(MORE):
        live(program, tmp_path / str(number), start_profcol, seen)
        if seen.is_enough():
            break
    print(sum(seen.ends.values(), collections.Counter()), seen.verdicts)
    for what in seen.shares():
        assert_few(seen.shares(), what)
    assert seen.verdicts[Verdict.TRUE] >= 60


@pytest.fixture
def new_threads(source, tmp_path):
    target = Target("new_threads", "new_threads.go", ("go", "build"))
    try:
        path, _ = build(target, source / "tests/targets", tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    return path


@pytest.mark.thorough
@pytest.mark.skipif(platform.machine() != "x86_64", reason="goroutines are found on amd64 only")
def test_stacks_of_goroutines_are_copied_and_walked_in_user_space(
    new_threads, start_profcol, start_target, tmp_path
):
    receiver = {
        "samples_per_second": RATE,
        "select": {"include": [{"executable": {"values": [str(new_threads)]}}]},
    }
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    target = start_target(new_threads, stdout=subprocess.DEVNULL)

    def copied():
        return run.metrics().value("profcol_unwind_copied_stacks", walked="at_once")

    target.wait_burnt(GOROUTINES_MS)
    early = copied()
    # Until a busy machine has got to know the program, more is deferred than there is room for.
    Samples(tmp_path / "out").wait_latest()
    ends, read = collections.Counter(), set(profile_paths(tmp_path / "out"))
    # One copy that is not enough would be the last one.
    goal = early + 0.1 * RATE * GOROUTINES_MS / 1000
    wait_until(lambda: copied() >= goal, "stacks that are copied")

    def rounds():
        end_ms = target.cpu_ms() + GOROUTINES_CAP_MS
        while target.cpu_ms() < end_ms:
            for path in set(profile_paths(tmp_path / "out")) - read:
                read.add(path)
                for sample in pprof_file.read(path).of_pid(target.pid):
                    ends[sample.mark or "whole"] += sample.count
            yield ends.total() - ends["whole"], ends.total()
            target.wait_burnt(500)

    try:
        assert_rare(CUT_GOROUTINES, rounds(), "stacks that were cut")
    finally:
        print(early, dict(ends))
    target.kill()
    run.stop()
