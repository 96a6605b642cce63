# SPDX-License-Identifier: Apache-2.0
"""The loads of the benchmark: they work, what they did is checked, and nothing of them stays."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

from proc_files import pids_with
from waiting import wait_until

BUILD_BOUND_S = 1200  # thousands of functions, beside other work
WORK_BOUND_S = 600
LONGEST_S = 64  # until every program has done something, on a machine that may be loaded
LANGUAGES = {"python", "node", "java", "go", "cxx"}


def _long(*parameters):
    """One whose programs take long to build or to start; storm and deep show the rest."""
    return pytest.param(*parameters, marks=pytest.mark.thorough)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("loads")


def _processes_of(cache):
    """Ids of the processes started by loads with this cache, by the mark in their environment."""
    return pids_with("LOADS_TEST", cache)


@pytest.fixture
def start_load(source, cache):
    """start_load(name, *options): a running run.py; killed in the end."""
    started = []

    def start(name, *options):
        script = source / "tests/bench/loads/run.py"
        process = subprocess.Popen(
            ["/usr/bin/python3", script, name, "--cache", cache, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # With what makes a JVM print a line, wherever it is set.
            env={**os.environ, "LOADS_TEST": str(cache), "JAVA_TOOL_OPTIONS": "-Xint"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _run(start_load, name, seconds):
    process = start_load(name, "--seconds", seconds)
    output, errors = process.communicate(timeout=WORK_BOUND_S)
    # Runtimes may have remarks of their own, as Java on JAVA_TOOL_OPTIONS.
    assert process.returncode == 0, errors
    ready, result = output.splitlines()
    assert ready == "ready"
    return json.loads(result)


def _run_until_all_work(start_load, name):
    assert start_load(name, "--prepare").wait(timeout=BUILD_BOUND_S) == 0
    seconds = 1
    while True:
        result = _run(start_load, name, str(seconds))
        if all(result["units"].values()) or seconds >= LONGEST_S:
            return result
        seconds *= 4


def check_cold(result):
    """Its code exceeds the cache, and it is the code that it says."""
    sizes, programs = result["sizes"], result["programs"]["cold"]
    rings = (result["cpus"] + 1) // 2
    assert len(programs) == sizes["programs"] * rings
    sysfs = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    if sysfs.exists():
        assert sysfs.read_text().strip() == f"{sizes['last_level_cache_bytes'] >> 10}K"
    exceeded = sizes["cache_bytes_to_exceed"]
    assert sizes["text_bytes"] >= 2 * exceeded
    assert exceeded == min(sizes["last_level_cache_bytes"] or exceeded, result["cpus"] * (64 << 20))


@pytest.mark.parametrize("name", [_long("mixed"), "storm", _long("large"), "deep", _long("cold")])
def test_every_program_works_and_none_is_left(start_load, cache, name):
    result = _run_until_all_work(start_load, name)
    assert (result["load"], result["seconds"] >= 1) == (name, True)
    assert result["units"].keys() == result["checksums"].keys()
    uncounted = {"large-long"} if name == "large" else set()
    assert result["programs"].keys() - result["units"].keys() == uncounted
    assert result["units"] and all(result["units"].values())
    assert all(result["programs"].values())
    if name == "cold":
        check_cold(result)
    if name == "mixed":
        languages = LANGUAGES - set(result["left_out"])
        assert languages >= {"python", "cxx"}
        assert len({result["checksums"][language] for language in languages}) == 1
    assert _processes_of(cache) == []


def test_idle_has_no_units(start_load, cache):
    result = _run(start_load, "idle", "0.1")
    assert (result["units"], result["checksums"]) == ({}, {})
    assert len(result["programs"]["idle"]) == 1
    assert _processes_of(cache) == []


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("storm", signal.SIGINT),
        _long("large", signal.SIGTERM),
        _long("mixed", signal.SIGKILL),
        ("deep", signal.SIGKILL),
    ],
)
def test_an_ended_load_leaves_nothing(start_load, cache, name, number):
    process = start_load(name, "--seconds", "60")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.wait(timeout=WORK_BOUND_S)
    if number == signal.SIGKILL:  # the kernel ends the rest, which takes a moment
        wait_until(lambda: not _processes_of(cache), "end of a killed load")
    assert _processes_of(cache) == []


def test_work_that_differs_is_an_error(start_load, cache):
    assert start_load("deep", "--prepare").wait(timeout=WORK_BOUND_S) == 0
    program = cache / "deep_work"
    program.write_text("#!/bin/sh\necho 00000001\nexec sleep 60\n")
    process = start_load("deep")
    output, errors = process.communicate(timeout=WORK_BOUND_S)
    program.unlink()  # to be built again
    assert (output, process.returncode) == ("", 1)
    assert "deep did other work than it should: checksum 00000001" in errors
    assert _processes_of(cache) == []


def test_what_is_built_is_not_built_again(start_load, cache):
    times = []
    for _ in range(2):
        assert start_load("storm", "--prepare").wait(timeout=WORK_BOUND_S) == 0
        times.append((cache / "storm_program").stat().st_mtime_ns)
    assert times[0] == times[1]
