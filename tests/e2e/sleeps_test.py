# SPDX-License-Identifier: Apache-2.0
"""Waits that have not ended when a batch is closed: each batch has its part, none has it twice."""
import collections
import pathlib
import subprocess
import time

import pprof_file
import pytest

from profcol_run import pipeline, read_profile
from record_test import record
from waiting import wait_until

# Of each thread of tests/targets/sleeps.c: where it waits, from there on its callers, and why.
_WAITS = {
    "long_sleep": (("long_sleep", "sleep_outer", "sleeping"), "sleep"),
    "long_join": (("long_join", "main"), "futex"),
}
_SECOND = 1_000_000_000


def _sleeps(pid):
    """Do both threads wait where they are going to stay?"""
    calls = [path.read_text().split()[0] for path in pathlib.Path(f"/proc/{pid}/task").glob("*/syscall")]
    return len(calls) == 2 and all(call.isdigit() for call in calls)


@pytest.fixture
def sleeper(build_target):
    with subprocess.Popen([build_target("sleeps"), "3600"]) as process:
        try:
            wait_until(lambda: _sleeps(process.pid), "both threads sleep")
            yield process
        finally:
            process.kill()


def _of(profile, function):
    return [sample for sample in profile.samples if function in sample.names]


def _record(program, sleeper, path):
    """Three seconds of it, and how many nanoseconds there can have been in all."""
    begin = time.monotonic_ns()
    result = record(
        program,
        *("-o", path, "--event", "off-cpu", "--frequency", 10000, "--seconds", 3),
        *("--pid", sleeper.pid),
    )
    assert result.returncode == 0, result.stderr
    return pprof_file.read(path), time.monotonic_ns() - begin


def test_who_sleeps_all_the_time_is_told_of(program, sleeper, tmp_path):
    profile, most = _record(program, sleeper, tmp_path / "out.pb.gz")
    # By thread: on a busy machine its stack may not be read in time.
    for thread in ("sleeper", "sleeps"):
        total = sum(one.count for one in profile.samples if one.labels.get("comm") == thread)
        assert 2.5 * _SECOND < total < most, thread


def test_the_stack_is_that_of_the_sleep(program, sleeper, tmp_path):
    profile, _ = _record(program, sleeper, tmp_path / "out.pb.gz")
    for function, (callers, reason) in _WAITS.items():
        for sample in _of(profile, function):
            at = sample.names.index(function)
            assert sample.names[at:][: len(callers)] == callers
            assert not sample.mark
            assert sample.labels["profcol.wait.reason"] == reason
    # The first batch may be closed before the tables of the process are there.
    cut = sum(sample.values[0] for sample in profile.samples if not set(_WAITS) & set(sample.names))
    assert cut < 0.5 * profile.count


def test_no_time_is_told_twice(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    result = record(
        program,
        *("-o", path, "--event", "off-cpu", "--frequency", 10000),
        *("--", build_target("sleeps"), 4),
    )
    assert result.returncode == 0, result.stderr
    true = int(dict([result.stdout.split()])["long_sleep"])
    profile = pprof_file.read(path)
    # By the thread: it may wake while its stack is read, which nobody knows then.
    told = collections.Counter()
    for sample in profile.samples:
        if sample.labels.get("comm") == "sleeper":
            told[sample.labels["profcol.wait.reason"]] += sample.count
    # It may have been kept from a CPU, too: before it slept, and after.
    assert told["sleep"] <= 1.01 * true
    assert told.total() >= 0.99 * true


def test_what_becomes_of_their_stacks_is_counted(start_profcol, sleeper, tmp_path):
    receiver = {
        "events": ["off_cpu"],
        "off_cpu": {"max_events": 10000},
        "reporter_interval": "1s",
        "select": {"include": [{"pid": sleeper.pid}]},
    }
    run = start_profcol(pipeline(tmp_path / "out", receiver=receiver)).wait_ready()

    wait_until(
        lambda: run.metrics().value("profcol_unfinished_waits", stack="read") >= 2,
        "waits are told of",
    )
    run.stop()
    assert _of(read_profile(tmp_path / "out"), "long_sleep")
