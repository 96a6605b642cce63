# SPDX-License-Identifier: Apache-2.0
"""A node that is a container itself, as kind makes them: "the host's" PID namespace is not the
machine's, and that of a pod lies one deeper.
"""
import contextlib
import os
import pathlib

import pytest

from profcol_run import pipeline, processes, read_samples
from waiting import wait_until

# profcol, a program beside it, and one in a pod.
_NODE = 'unshare --pid --fork --mount-proc "$0" & "$0" & exec "$@"'


def descendants(pid):
    """Process ids of all that descend from `pid`."""
    found, parents = [pid], dict(processes())
    for above in found:
        found += [child for child, parent in parents.items() if parent == above]
    return found[1:]


def read_comm(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def number_in_node(pid):
    """The number of a process in the node's namespace, the one below ours."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    (numbers,) = (line.split()[1:] for line in lines if line.startswith("NSpid:"))
    return int(numbers[1])


def whole_stacks(directory, pids):
    """How many of each of these processes there are so far, from the leaf to the entry."""
    counts = dict.fromkeys(pids, 0)
    for sample in read_samples(directory):
        names = sample.names
        if sample.labels["pid"] in counts and "burn_leaf" in names and names[-1] == "_start":
            counts[sample.labels["pid"]] += sample.count
    return counts


@pytest.mark.parametrize("selected", [False, True])
def test_processes_have_their_numbers_in_the_node(
    start_profcol, start_target, burn, selected, tmp_path
):
    # The idle CPUs, too: no process outside is to be taken for one.
    rules = {"send_idle_frames": True}
    if selected:
        rules = {"select": {"include": [{"comm": {"values": ["burn"]}}]}}
    start_target(burn)  # outside
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", _NODE, burn]
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    run = start_profcol(pipeline(None, rules, exporters), prefix=prefix).wait_ready()

    def inside(comm):
        """Number in the node to process id, of those that are called so."""
        found = {}
        for pid in descendants(run.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended
                if read_comm(pid) == comm:
                    found[number_in_node(pid)] = pid
        return found

    wait_until(lambda: len(inside("burn")) == 2, "the programs inside")
    agent, numbers = inside("profcol")[1], inside("burn")
    assert not numbers.keys() & set(numbers.values())
    wait_until(
        lambda: all(count > 50 for count in whole_stacks(tmp_path / "out", numbers).values()),
        "whole stacks of the programs inside",
        step_s=0.5,
    )
    os.kill(agent, 15)
    assert run.wait_exit() == 0
    assert "processes outside of it are not profiled" in run.log

    burning = [each for each in read_samples(tmp_path / "out") if each.labels.get("comm") == "burn"]
    assert {sample.labels["pid"] for sample in burning} == numbers.keys()
