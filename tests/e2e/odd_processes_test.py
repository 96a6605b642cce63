# SPDX-License-Identifier: Apache-2.0
"""Odd and hostile processes: they are profiled as far as that is possible, and harm nobody."""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from odd_neighbour import (
    assert_whole,
    ends_of,
    named,
    since_exec,
    user_files,
)
from profile_files import Samples
from unwind_targets import drop_section_headers
from waiting import wait_until


BURN_MS = 600  # of CPU time, at 199 samples a second
LEAST = 60  # samples of that
CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main", "_start")
BOMB_USER = 64321  # as odd_process.c has it

_PTRACE_CONT, _PTRACE_DETACH, _PTRACE_SEIZE, _PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


@pytest.fixture(scope="module")
def odd(source, tmp_path_factory):
    """The program that does odd things, and the ordinary one, which is the same by another name."""
    path = tmp_path_factory.mktemp("odd") / "odd_process"
    command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-fomit-frame-pointer"]
    subprocess.run([*command, source / "tests/targets/odd_process.c", "-o", path], check=True)
    shutil.copy(path, path.with_name("ordinary"))
    path.parent.chmod(0o755)
    for parent in path.parents[1:]:  # of other users, too
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 1:
            parent.chmod(parent.stat().st_mode | 0o111)
    return path


@pytest.fixture(scope="module")
def built(odd):
    return odd.parent


def check(samples, path, share=0.9, first_moments=0.5):
    """Delivered, whole or cut with a reason, named, and of no other file."""
    samples = since_exec(samples, path)
    assert_whole(samples, LEAST, share, first_moments)
    whole = [sample for sample in samples if not sample.mark and "burn_root" in sample.names]
    assert named(whole, *CHAIN) >= 0.98 * sum(sample.count for sample in whole)
    files = set().union(*map(user_files, samples))
    assert files <= {str(path)}, files


@pytest.mark.sanitized
def test_code_that_comes_and_goes_ten_thousand_times_a_second(neighbourhood, odd):
    target = neighbourhood.start(odd, "remap").wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd)


# A build with sanitizers takes seconds of CPU time to take in so many.
def test_as_many_mappings_as_there_may_be(neighbourhood, odd):
    target = neighbourhood.start(odd, "mappings").wait_burnt(2 * BURN_MS)
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd, share=0.7)


def test_as_many_mappings_before_the_profiler(around, odd):
    target = around.start(odd, "mappings").wait_burnt(BURN_MS)
    around.profile().await_samples()
    check(around.finish()[target.pid], odd, share=0.7)


def test_as_many_mappings_that_go_at_once(neighbourhood, odd):
    """Again and again, under a thread that is sampled meanwhile."""
    target = neighbourhood.start(odd, "unmap", stdout=subprocess.PIPE, text=True)
    memory = []
    for number in range(1, 6):
        assert target.process.stdout.readline() == f"{number}\n"
        memory.append(int(neighbourhood.run.metrics().value("profcol_processes_memory_bytes")))
    print(f"memory: {memory}")
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd, share=0.7)
    assert neighbourhood.metrics.value("profcol_processes_refused") == 0


@pytest.mark.sanitized
def test_the_stack_it_was_started_with_is_gone(neighbourhood, odd):
    target = neighbourhood.start(odd, "no_stack").wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    samples = since_exec(neighbourhood.finish()[target.pid], odd)
    ends = ends_of(samples)
    print(f"odd: {dict(ends)}")
    assert ends["[unreadable stack memory]"] >= LEAST
    # Until its code is known, walks are deferred: whether another stack is there, nobody knows then.
    gone = {"[unreadable stack memory]", "[stack beyond deferred_stack]"}
    assert sum(ends[mark] for mark in gone) >= 0.9 * (ends.total() - ends["kernel"])
    cut = [sample for sample in samples if sample.mark in gone]
    assert named(cut, *CHAIN[:3], "on_new_stack") >= 0.9 * sum(sample.count for sample in cut)
    assert set().union(*map(user_files, samples)) <= {str(odd)}


def test_one_that_nobody_may_look_into(neighbourhood, odd):
    target = neighbourhood.start(odd, "undumpable").wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd)


def test_one_that_runs_as_another_user(neighbourhood, odd, tmp_path):
    path = odd.with_name("setuid")
    shutil.copy(odd, path)
    os.chown(path, 65534, 65534)
    path.chmod(0o6755)
    target = neighbourhood.start(path, "plain", user=1234, group=1234, extra_groups=[])
    target.wait_burnt(BURN_MS)
    status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
    assert re.search(r"^Uid:\s+1234\s+65534\s", status, re.MULTILINE), "its mount is nosuid"
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], path)


def test_one_without_section_headers(neighbourhood, odd):
    path = odd.with_name("stripped")
    drop_section_headers(odd, path)
    path.chmod(0o755)
    target = neighbourhood.start(path, "plain").wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    samples = since_exec(neighbourhood.finish()[target.pid], path)
    assert_whole(samples, LEAST)
    whole = [sample for sample in samples if not sample.mark]
    # leaf, middle, root, main and the program's entry, by address
    for sample in whole:
        own = [frame for frame in sample.frames if frame.file == str(path)]
        assert not own or own[-1].build_id
    full = [s for s in whole if sum(frame.file == str(path) for frame in s.frames) >= 5]
    assert sum(sample.count for sample in full) >= 0.9 * sum(sample.count for sample in whole)
    assert set().union(*map(user_files, samples)) <= {str(path)}


def ptrace(request, pid):
    assert _libc.ptrace(request, pid, None, None) == 0, os.strerror(ctypes.get_errno())


def test_one_that_is_traced_and_stopped_by_it(neighbourhood, odd):
    target = neighbourhood.start(odd, "plain")
    ptrace(_PTRACE_SEIZE, target.pid)
    # Before it was ever sampled, perhaps, and again.
    for _ in range(5):
        ptrace(_PTRACE_INTERRUPT, target.pid)
        os.waitpid(target.pid, 0)
        time.sleep(0.1)
        ptrace(_PTRACE_CONT, target.pid)
        target.wait_burnt(BURN_MS // 5)
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd)


def test_one_that_is_stopped(neighbourhood, odd):
    target = neighbourhood.start(odd, "plain")
    for _ in range(5):
        with target.paused():
            time.sleep(0.1)
        target.wait_burnt(BURN_MS // 5)
    neighbourhood.await_samples()
    check(neighbourhood.finish()[target.pid], odd)


def _unified_mount():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return pathlib.Path(before.split()[4])
    return None


@pytest.fixture
def freezer():
    """A cgroup of its own that can be frozen."""
    mount = _unified_mount()
    if not mount or not os.access(mount / "cgroup.procs", os.W_OK):
        unfit = "no cgroup v2 is mounted for writing; run: mount -t cgroup2 none /sys/fs/cgroup"
        pytest.skip(unfit)
    path = mount / f"profcol-odd-{os.getpid()}"
    path.mkdir()
    yield path
    (path / "cgroup.freeze").write_text("0")
    with contextlib.suppress(OSError):
        for pid in (path / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: "populated 0" in (path / "cgroup.events").read_text(), "an empty cgroup")
    path.rmdir()


def test_one_that_is_frozen(neighbourhood, odd, freezer):
    target = neighbourhood.start(odd, "plain")
    (freezer / "cgroup.procs").write_text(str(target.pid))
    for _ in range(5):
        (freezer / "cgroup.freeze").write_text("1")
        wait_until(lambda: "frozen 1" in (freezer / "cgroup.events").read_text(), "a frozen cgroup")
        time.sleep(0.1)
        (freezer / "cgroup.freeze").write_text("0")
        target.wait_burnt(BURN_MS // 5)
    # The profiler ends while it is frozen.
    neighbourhood.await_samples()
    (freezer / "cgroup.freeze").write_text("1")
    check(neighbourhood.finish()[target.pid], odd)


def test_one_in_namespaces_of_its_own(neighbourhood, odd):
    """Its number there is 1, and its path is one that only it can see."""
    script = (
        "mount -t tmpfs none /mnt && cp \"$0\" /mnt/inside && exec /mnt/inside plain"
    )
    shell = ["sh", "-c", script, odd]
    outer = neighbourhood.start(
        "unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", *shell
    )

    def inner():
        text = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text()
        return int(text) if text.strip() else None

    pid = wait_until(inner, "a process in a namespace of its own")
    path = pathlib.Path(f"/proc/{pid}/exe")
    wait_until(lambda: os.readlink(path) == "/mnt/inside", "its program")
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    assert re.search(rf"^NSpid:\s+{pid}\s+1$", status, re.MULTILINE)
    neighbourhood.await_samples(2 * BURN_MS)
    check(neighbourhood.finish()[pid], "/mnt/inside")
    assert not pathlib.Path("/mnt/inside").exists()


def test_a_fork_bomb_that_is_limited(neighbourhood, odd):
    exported = Samples(neighbourhood.out)
    for _ in range(5):  # a machine that stands still meanwhile leaves one no time
        assert neighbourhood.start(odd, "bomb", 3).wait_exit() == 0
        neighbourhood.await_samples()
        bombs = {s.labels["pid"] for s in exported.all() if s.labels.get("comm") == "odd_process"}
        if len(bombs) >= 60:
            break
    samples = neighbourhood.finish()
    others = {neighbourhood.ordinary.pid, neighbourhood.run.pid}
    forks = {
        pid: those
        for pid, those in samples.items()
        if pid not in others and any(s.labels.get("comm") == "odd_process" for s in those)
    }
    print(f"{len(forks)} processes were sampled")
    assert len(forks) >= 50
    # Each lives for some twenty milliseconds, in which a slow build learns little of it.
    first_moments = 0.9 if neighbourhood.is_sanitized else 0.3
    check([sample for those in forks.values() for sample in those], odd, 0.7, first_moments)
