# SPDX-License-Identifier: Apache-2.0
"""Processes of a run: they end with it, and what they use is counted."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import children
import due
import process_usage
import pytest

_HERE = pathlib.Path(__file__).resolve().parent
# Its own child is a shell with a child: what a profiler behind a launcher looks like.
_PARENT = """
import children, signal
process = children.start(["sh", "-c", "sleep 600; true"])
print(process.pid, flush=True)
signal.pause()
"""


def _is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_children_die_with_a_killed_runner():
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], cwd=_HERE, stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    assert _is_alive(child)
    parent.kill()
    parent.wait()
    try:
        children.wait_until(lambda: not _is_alive(child), "end of the child", 30)
    finally:
        # The shell's own child is not ours to end: only what the run starts itself is.
        os.killpg(child, signal.SIGKILL)


def test_a_stopped_child_leaves_nothing_of_its_session():
    process = children.start(["sh", "-c", "trap '' TERM; sleep 600 & echo $!; wait; sleep 600"],
                             stdout=subprocess.PIPE, text=True)  # fmt: skip
    inner = int(children.read_line(process, "pid"))
    assert process.pid in process_usage.tree(process.pid)
    assert inner in process_usage.tree(process.pid)
    assert children.stop(process, bound_s=0.2) == -signal.SIGKILL
    children.wait_until(lambda: not _is_alive(inner), "end of the inner process", 30)


def test_a_silent_or_failing_child_is_told():
    with children.running(["sleep", "600"], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(children.ChildFailed, match="no word from sleep 600: it was silent"):
            children.read_line(process, "word", 0.05)
    with children.running(["true"], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(children.ChildFailed, match="it has ended"):
            children.read_line(process, "word")
    with pytest.raises(children.ChildFailed, match="ended with 3: lost"):
        children.output(["sh", "-c", "echo lost >&2; exit 3"])


def test_cpu_time_of_ended_children_counts():
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    before, spent = process_usage.Cpu.of(os.getpid()), time.process_time()
    subprocess.run([sys.executable, "-c", burn], check=True)
    used = process_usage.Cpu.of(os.getpid()).since(before)
    assert used["total_s"] > 0.18 + time.process_time() - spent
    assert used["total_s"] == pytest.approx(used["user_s"] + used["system_s"])


def test_peaks_are_those_of_the_kernel():
    grow = "import sys; block = b'x' * (32 << 20); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with children.running([sys.executable, "-c", grow], **pipes) as process:
        children.read_line(process, "word")
        with process_usage.MemoryWatch(process.pid) as watch:
            watch.look()
        peaks = watch.peaks()
    assert peaks["processes"] == 1
    assert 32 << 20 < peaks["peak_anonymous_bytes"] <= peaks["peak_rss_bytes"] < 256 << 20


def _snapshot(user, run_cnt, ids=(1,)):
    return {
        "idle": 1,
        "kernel": 2,
        "user": user,
        "names": {"python3": user} if user else {},
        "programs": [
            {"id": each, "run_cnt": run_cnt, "run_time_ns": 10 * run_cnt} for each in ids
        ],
        "maps": [],
    }


def test_only_what_happened_between_two_snapshots_counts():
    before, after = _snapshot(0, 5), _snapshot(7, 8, (1, 2))
    assert due.difference(before, after) == {
        "idle": 0, "kernel": 0, "user": 7, "names": {"python3": 7},
    }  # fmt: skip
    assert due.ids_since(before, after, "programs") == {2}
    assert due.programs_between(before, after, {1, 2}) == [
        {"id": 1, "run_cnt": 3, "run_time_ns": 30},
        {"id": 2, "run_cnt": 8, "run_time_ns": 80},
    ]
