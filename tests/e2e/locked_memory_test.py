# SPDX-License-Identifier: Apache-2.0
"""Processes of an ordinary user that keep the lock of their own memory: whoever looks into them
waits for as long as they like. They cost themselves; all others are known as well as ever.
"""
import json
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest

from free_port import free_port
from odd_neighbour import assert_whole, named, since_exec
from target_run import Target, as_user
from waiting import wait_until

BURN_MS = 700  # of CPU time, at 199 samples a second
LEAST = 60  # samples of that
USER = 12345
CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main", "_start")
# More processes than may be waited for at one time, by somebody who has one number.
MANY = 12

# Who looks for leaks stops all threads, which one that waits for a locked process cannot be.
WITHOUT_LEAKS = ("env", "ASAN_OPTIONS=exitcode=99:detect_leaks=0")


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """The directory with the programs of these tests."""
    directory = tmp_path_factory.mktemp("locked")
    targets = {"ordinary": "odd_process", "locked": "locked_memory", "greedy": "greedy"}
    for name, target in targets.items():
        command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-fomit-frame-pointer"]
        file = source / "tests/targets" / f"{target}.c"
        subprocess.run([*command, file, "-o", directory / name, "-pthread"], check=True)
    return directory


@pytest.fixture
def lock(built, open_path):
    """lock(count, how): so many processes that keep the lock, as tests/targets/locked_memory.c says.

    They end at once when the test does: others would wait for them, too.
    """
    started = []

    def start(count, how):
        directory = open_path / "mount"
        directory.mkdir(exist_ok=True)
        command = [built / "locked", directory, USER, count, how]
        started.append(Target(*command, stdout=subprocess.PIPE, text=True))
        assert started[-1].process.stdout.readline() == "ready\n"

    yield start
    for target in started:
        target.kill()


def start_later(around, built, tmp_path):
    """Who comes after those is known as well as any."""
    path = tmp_path / "later"
    shutil.copy(built / "ordinary", path)
    return path, around.start(path, "plain").wait_burnt(BURN_MS)


def check_later(samples, path, later):
    own = since_exec(samples[later.pid], path)
    assert_whole(own, LEAST, share=0.95, first_moments=0.2)
    whole = [sample for sample in own if not sample.mark and "burn_root" in sample.names]
    assert named(whole, *CHAIN) >= 0.98 * sum(sample.count for sample in whole)


# While an exec waits for such a lock, a process that anybody moves to another cgroup can keep all
# others on the machine from starting and ending.
EXEC = pytest.param("exec", marks=pytest.mark.alone)


@pytest.mark.parametrize("how", ["memory", "undumpable", EXEC])
def test_who_is_there_after_the_start(around, lock, built, tmp_path, how):
    around.profile(WITHOUT_LEAKS)
    lock(MANY, how)
    path, later = start_later(around, built, tmp_path)
    around.await_samples()
    samples = around.finish()  # in order, too: it is told to end while they hold the lock
    assert around.metrics.value("profcol_processes_unanswered") > 0
    check_later(samples, path, later)


@pytest.mark.alone
def test_who_is_there_while_records_are_lost(around, lock, built, tmp_path):
    """Then all processes are looked at again: of one in an exec that waits, the kernel does not even
    say whether it lives.
    """
    around.profile(WITHOUT_LEAKS)
    lock(MANY, "exec")
    around.start(*as_user(USER, built / "greedy", "map"))

    def has_lost():
        around.run.process.send_signal(signal.SIGSTOP)  # so that there is no room for its records
        time.sleep(1)
        around.run.process.send_signal(signal.SIGCONT)
        return around.run.metrics().value("profcol_processes_records_lost")

    wait_until(has_lost, "a lost record", step_s=1)
    path, later = start_later(around, built, tmp_path)
    around.await_samples()
    check_later(around.finish(), path, later)


@pytest.mark.parametrize("how", [pytest.param("memory", marks=pytest.mark.thorough), EXEC])
def test_who_is_there_before_the_start(around, lock, built, tmp_path, how):
    port = free_port()
    lock(MANY, how)
    around.profile(WITHOUT_LEAKS, extensions={"health_check": {"endpoint": f"127.0.0.1:{port}"}})
    path, later = start_later(around, built, tmp_path)
    around.await_samples()
    around.run.wait_logged("keeps the lock of its memory")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status?verbose") as answer:
        health = json.load(answer)
    # Said, but nobody can have the profiler called unwell.
    assert health["healthy"]
    receiver = health["components"]["pipeline:profiles"]["components"]["receiver:profiling"]
    assert f"user {USER}" in receiver["error"], health
    samples = around.finish()
    assert around.metrics.value("profcol_processes_hanging", of="process") > 0
    assert around.metrics.value("profcol_processes_unasked") > 0
    check_later(samples, path, later)


@pytest.mark.thorough
def test_who_keeps_it_in_turns(around, lock, built, tmp_path):
    """Shortly, so that nobody is left behind: but again and again, and each has to be waited for."""
    around.profile(WITHOUT_LEAKS)
    lock(MANY, "turns")
    path, later = start_later(around, built, tmp_path)
    around.await_samples()
    check_later(around.finish(), path, later)

