# SPDX-License-Identifier: Apache-2.0
"""The independent meter: samples due, and what BPF programs and maps cost (meter/)."""
import contextlib
import json
import subprocess

import children


class Meter:
    """A running due_counter. What is not of our process and its descendants is of others."""

    def __init__(self, process):
        self._process = process
        self.pid = process.pid

    def snapshot(self):
        """Sums since its start, of this moment."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(children.read_line(self._process, "snapshot"))


@contextlib.contextmanager
def counting(program, rate):
    """The meter for the time of a `with` statement."""
    command = [program, rate]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with children.running(command, **pipes) as process:
        line = children.read_line(process, "word that it counts")
        if line != "ready\n":
            raise children.ChildFailed(f"due_counter said {line!r} instead of 'ready'")
        yield Meter(process)


def difference(before, after):
    """What was due between two snapshots; `names` are those of others."""
    due = {key: after[key] - before[key] for key in ("idle", "kernel", "user", "other")}
    names = {
        name: count - before["names"].get(name, 0) for name, count in after["names"].items()
    }
    return due | {"names": {name: count for name, count in names.items() if count}}


def programs_between(before, after, own):
    """Run times and counts between two snapshots of the programs with an id in `own`."""
    earlier = {program["id"]: program for program in before["programs"]}
    found = []
    for program in after["programs"]:
        if program["id"] not in own:
            continue
        start = earlier.get(program["id"], {"run_time_ns": 0, "run_cnt": 0})
        found.append(
            program | {key: program[key] - start[key] for key in ("run_time_ns", "run_cnt")}
        )
    return found


def counters_between(before, after, own):
    """What the maps with an id in `own` have counted between two snapshots, by name of the map."""
    earlier = {each["id"]: each["values"] for each in before["counters"]}
    found = {}
    for each in after["counters"]:
        if each["id"] in own:
            start = earlier.get(each["id"], [0] * len(each["values"]))
            found[each["name"]] = [last - first for first, last in zip(start, each["values"])]
    return found


def ids_since(before, after, kind):
    """Ids of the programs or maps that are in the later snapshot only."""
    return {each["id"] for each in after[kind]} - {each["id"] for each in before[kind]}
