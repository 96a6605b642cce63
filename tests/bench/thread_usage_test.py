# SPDX-License-Identifier: Apache-2.0
"""How often threads wake up, by a program that does so when it is told."""
import pathlib
import subprocess
import sys

import children
import thread_usage

ECHO = "import sys\nprint(flush=True)\nfor line in sys.stdin: print(line, end='', flush=True)"


def _wait_asleep(process):
    stat = pathlib.Path(f"/proc/{process.pid}/stat")
    children.wait_until(
        lambda: stat.read_text().rpartition(")")[2].split()[0] == "S", "a child that sleeps", 30
    )


def test_each_time_a_thread_is_woken_counts():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with children.running([sys.executable, "-c", ECHO], **pipes) as process:
        children.read_line(process, "word")
        _wait_asleep(process)
        before = thread_usage.uses(process.pid)
        for _ in range(10):
            process.stdin.write("again\n")
            process.stdin.flush()
            assert children.read_line(process, "answer") == "again\n"
            _wait_asleep(process)
        after = thread_usage.uses(process.pid)
        [use] = thread_usage.between(before, after).values()
        assert use.sleeps >= 10 and use.cpu_ns > 0
        [rest] = thread_usage.between(after, thread_usage.uses(process.pid)).values()
        assert (rest.sleeps, rest.cpu_ns) == (0, 0)


def test_threads_of_one_name_are_added_up():
    before = {1: thread_usage.Use("main", 5, 50), 2: thread_usage.Use("files", 7, 70)}
    after = before | {
        1: thread_usage.Use("main", 6, 51),
        3: thread_usage.Use("files", 4, 40),
        4: thread_usage.Use("files", 2, 20),
    }
    del after[2]
    assert thread_usage.between(before, after) == {
        "main": thread_usage.Use("main", 1, 1),
        "files": thread_usage.Use("files", 6, 60),
    }
