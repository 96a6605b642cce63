#!/usr/bin/env -S /usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""How often the threads of a process and of its descendants wake up, and what CPU time they take.

By hand, for a process that runs:  thread_usage.py --seconds 20 PID
"""
import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import time

from process_usage import tree

# A thread may end at any moment: then its files are missing, or cannot be read any more.
_GONE = (FileNotFoundError, ProcessLookupError)
_SLEPT = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Use:
    """Of one thread since it began. Each time it went to sleep it was, or will be, woken."""

    name: str
    sleeps: int
    cpu_ns: int


def _use(task):
    """Of the thread with this directory in /proc."""
    name = (task / "comm").read_text(errors="replace").rstrip("\n")
    sleeps = int(_SLEPT.search((task / "status").read_text(errors="replace")).group(1))
    return Use(name, sleeps, int((task / "schedstat").read_text().split()[0]))


def uses(pid):
    """{thread: Use} of all threads of the tree that are alive."""
    found = {}
    for process in tree(pid):
        with contextlib.suppress(*_GONE):
            for thread in os.listdir(f"/proc/{process}/task"):
                with contextlib.suppress(*_GONE):
                    found[int(thread)] = _use(pathlib.Path(f"/proc/{process}/task/{thread}"))
    return found


def between(before, after):
    """{name: Use} of what passed between two readings; threads of one name are added up.

    A thread that ended in between is left out: nothing tells what it did.
    """
    sleeps, cpu_ns = collections.Counter(), collections.Counter()
    for thread, use in after.items():
        earlier = before.get(thread)
        sleeps[use.name] += use.sleeps - (earlier.sleeps if earlier else 0)
        cpu_ns[use.name] += use.cpu_ns - (earlier.cpu_ns if earlier else 0)
    return {name: Use(name, sleeps[name], cpu_ns[name]) for name in sleeps}


def _show(used, seconds):
    """A line for each name, the one that sleeps most often first, and one for all."""
    rows = sorted(used.values(), key=lambda use: (-use.sleeps, use.name))
    total = Use("all", sum(use.sleeps for use in rows), sum(use.cpu_ns for use in rows))
    print(f"{'thread':16} {'wake-ups/s':>10} {'CPU %':>8}")
    for use in [*rows, total]:
        share = use.cpu_ns / 1e7 / seconds
        if use.sleeps or use.cpu_ns:
            print(f"{use.name:16} {use.sleeps / seconds:10.2f} {share:8.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pid", type=int, metavar="PID")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    before, began = uses(options.pid), time.monotonic()
    time.sleep(options.seconds)
    after, ended = uses(options.pid), time.monotonic()
    _show(between(before, after), ended - began)


if __name__ == "__main__":
    main()
