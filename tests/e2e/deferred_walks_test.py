# SPDX-License-Identifier: Apache-2.0
"""Stacks whose code is not known yet are walked in user space: by the same rules, to the same end."""
import collections
import concurrent.futures
import os
import platform
import shutil
import subprocess

import pytest

import shadow_file
from profcol_run import pipeline, read_samples
from true_chains import TrueChains, Verdict
from unwind_targets import TARGETS, Missing, Target, build
from waiting import wait_until

RATE = 1499
BURN_MS = 500
TOGETHER = 8
FIRST_RATE = 199
GOROUTINES_MS = 3000
LIVES, ROUNDS = 24, 320  # a life takes some 60 ms
# Of a new file all has to be read first, within two seconds on a machine that may be loaded.
LEAST_WHOLE = 0.9


@pytest.fixture(scope="module")
def programs(source, tmp_path_factory):
    """[(target, path, symbols)] of all targets that can be built here."""
    directory = tmp_path_factory.mktemp("programs")

    def build_one(target):
        try:
            return target, *build(target, source / "tests/targets", directory)
        except Missing:
            return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [one for one in pool.map(build_one, TARGETS) if one]


def run_together(programs, start_target, directory):
    running = [
        start_target(path, directory / f"{target.name}.shadow", stdout=subprocess.DEVNULL)
        for target, path, _ in programs
    ]
    for target in running:
        wait_until(lambda: target.cpu_ms() >= BURN_MS, "some CPU time", bound_s=120)
    for target in running:
        target.process.kill()


def test_a_walk_in_user_space_finds_what_the_kernels_finds(
    programs, start_profcol, start_target, tmp_path,
):
    executables = {"executable": {"values": [str(path) for _, path, _ in programs]}}
    configuration = pipeline(
        tmp_path / "out",
        {"samples_per_second": RATE, "verify_walks": True, "select": {"include": [executables]}},
    )
    run = start_profcol(configuration).wait_ready()
    for at in range(0, len(programs), TOGETHER):
        run_together(programs[at : at + TOGETHER], start_target, tmp_path)
    metrics = run.metrics()
    seen = {
        result: metrics.value("profcol_unwind_verified_stacks", result=result)
        for result in ("equal", "different", "unknown")
    }
    run.stop()
    print(seen)
    # Kernel and receiver may be too slow for every sample of that rate; not for most.
    assert seen["equal"] >= 200 * len(programs)
    assert not seen["different"]
    # On other stacks than the one that was copied, and what was not sampled before.
    assert seen["unknown"] <= 0.1 * seen["equal"]


def test_the_first_samples_of_a_new_file_are_whole(programs, start_profcol, tmp_path):
    target, path, symbols = next(one for one in programs if one[0].name == "gcc_O0")
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": FIRST_RATE})).wait_ready()
    lives = {}
    for life in range(LIVES):
        copy = shutil.copy(path, tmp_path / f"life-{life}")
        process = subprocess.Popen([copy, tmp_path / f"shadow-{life}", str(ROUNDS)])
        assert process.wait() == 0
        lives[process.pid] = life
    run.stop()

    ends, verdicts = collections.Counter(), collections.Counter()
    for sample in read_samples(tmp_path / "out"):
        life = lives.get(sample.labels.get("pid"))
        if life is None or not any(frame.file.startswith("/") for frame in sample.frames):
            continue
        ends[sample.mark or "whole"] += sample.count
        if sample.mark:
            continue
        checker = TrueChains(
            target,
            tmp_path / f"life-{life}",
            symbols,
            shadow_file.read(tmp_path / f"shadow-{life}"),
        )
        verdicts[checker.judge(sample.frames).verdict] += sample.count
    print(dict(ends), {verdict.value: count for verdict, count in verdicts.items()})
    assert ends.total() >= 100, "too few samples to judge by"
    assert ends["whole"] >= LEAST_WHOLE * ends.total()
    assert verdicts[Verdict.TRUE] >= 60
    assert verdicts[Verdict.WRONG] <= 0.01 * verdicts.total()


@pytest.fixture
def new_threads(source, tmp_path):
    target = Target("new_threads", "new_threads.go", ("go", "build"))
    try:
        path, _ = build(target, source / "tests/targets", tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    return path


@pytest.mark.skipif(platform.machine() != "x86_64", reason="goroutines are found on amd64 only")
def test_stacks_of_goroutines_are_copied_and_walked_in_user_space(
    new_threads, start_profcol, start_target, tmp_path
):
    executables = {"executable": {"values": [str(new_threads)]}}
    configuration = pipeline(
        tmp_path / "out", {"samples_per_second": RATE, "select": {"include": [executables]}}
    )
    run = start_profcol(configuration).wait_ready()
    target = start_target(new_threads, stdout=subprocess.DEVNULL)

    def copied_after(cpu_ms):
        wait_until(lambda: target.cpu_ms() >= cpu_ms, "some CPU time", bound_s=120)
        return run.metrics().value("profcol_unwind_copied_stacks", walked="at_once")

    early, late = copied_after(GOROUTINES_MS), copied_after(2 * GOROUTINES_MS)
    target.process.kill()
    run.stop()
    ends = collections.Counter()
    for sample in read_samples(tmp_path / "out"):
        if sample.labels.get("pid") == target.pid:
            ends[sample.mark or "whole"] += sample.count
    print(early, late, dict(ends))
    # One copy that is not enough would be the last one.
    assert late - early >= 0.1 * RATE * GOROUTINES_MS / 1000
    # Before the program is known, stacks are copied that lead to others which are not. Each of its
    # threads begins in code that has a caller in the thread that started it.
    assert ends["whole"] >= 0.998 * ends.total()
