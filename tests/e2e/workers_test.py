# SPDX-License-Identifier: Apache-2.0
"""The processes that read files and memory of programs: each reads for one owner, nobody on the
machine can end them, and what they read costs profcol nothing.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from crafted_elf import with_hole
from profcol_run import pipeline
from target_run import as_user
from waiting import wait_until

NOBODY = 65534
ALICE, BOB = 12345, 12346
WORKER_UID = 2111111111
HOLE = 256 << 20  # bytes


def status_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def descriptors_of(pid):
    return {int(fd.name): os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()}


@pytest.fixture
def program_of(build_target, open_path):
    """A program that computes, as a file of its own for each user, whom nobody else can read."""
    def make(uid):
        path = open_path / f"spin{uid}"
        shutil.copy(build_target("burn"), path)
        path.chmod(0o500)
        os.chown(path, uid, uid)
        return path

    return make


@pytest.fixture
def all_read(program_of, start_profcol, start_target, tmp_path):
    """A run that has looked into the programs of two users."""
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    targets = [start_target(*as_user(uid, program_of(uid))) for uid in (ALICE, BOB)]
    for target in targets:
        target.wait_burnt(500)
    return run


def workers_of(run):
    """All of them, once they are shut in: one that has just been started is not yet."""

    def shut_in():
        workers = run.children()
        with contextlib.suppress(OSError):  # one has ended
            return all(status_of(pid).get("Seccomp") == "2" for pid in workers) and workers

    return wait_until(shut_in, "workers that are shut in")


def test_workers_have_nothing(all_read):
    for pid in workers_of(all_read):
        status = status_of(pid)
        assert status["Uid"].split() == [str(WORKER_UID)] * 4, status["Uid"]
        assert status["Gid"].split() == [str(WORKER_UID)] * 4, status["Gid"]
        assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {
            "0" * 16
        }
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def test_workers_have_no_descriptor_of_ours(all_read):
    """But the socket that they answer on, and files that they read."""
    for pid in workers_of(all_read):
        descriptors = descriptors_of(pid)
        assert [descriptors.pop(fd) for fd in (0, 1, 2)] == ["/dev/null"] * 3
        sockets = [to for to in descriptors.values() if to.startswith("socket:")]
        assert len(sockets) == 1
        assert not [to for to in descriptors.values() if "journal" in to or "log" in to]


def test_each_user_has_workers_of_his_own(all_read):
    """The machine's libraries, Alice's program and Bob's are read by three."""
    wait_until(
        lambda: all_read.metrics().value("profcol_worker_starts", purpose="unwind") >= 3,
        "three workers for unwind tables",
    )


def test_nobody_can_kill_a_worker(all_read):
    script = """if True:
        import os, sys
        refused = 0
        for pid in map(int, sys.argv[1:]):
            try:
                os.kill(pid, 9)
            except (PermissionError, ProcessLookupError):  # the latter has ended by itself
                refused += 1
        print(refused)
        """
    workers = [str(pid) for pid in wait_until(all_read.children, "workers")]
    command = as_user(NOBODY, sys.executable, "-c", script, *workers)
    refused = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(refused) == len(workers)


def test_holes_stay_holes(build_target, start_profcol, start_target, tmp_path):
    """A page of a file in memory belongs to who reads it first by mapping it, and stays."""
    program = build_target("burn").read_bytes()
    data, sections_at, sections = with_hole(program, HOLE)
    file = os.memfd_create("hole", 0)
    os.write(file, data)
    os.pwrite(file, sections, sections_at)
    os.fchmod(file, 0o755)
    path = f"/proc/{os.getpid()}/fd/{file}"
    reading = os.open(path, os.O_RDONLY)
    os.close(file)  # what is open for writing is not executed
    target = start_target(f"/proc/self/fd/{reading}", pass_fds=[reading])
    target.wait_burnt(100)
    blocks = os.fstat(reading).st_blocks
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    target.wait_burnt(500)
    wait_until(
        lambda: run.metrics().value("profcol_symbol_sources", source="symtab"),
        "an index of its functions",
    )
    assert os.fstat(reading).st_blocks == blocks
    os.close(reading)
    run.stop(signal.SIGTERM)
