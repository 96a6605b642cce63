# SPDX-License-Identifier: Apache-2.0
"""A node that is a container itself, as kind makes them: "the host's" PID namespace is not the
machine's, and that of a pod lies one deeper.
"""
import os
import pathlib

import pytest

from profcol_run import pipeline, processes, read_profile
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
    run = start_profcol(pipeline(tmp_path / "out", rules), prefix=prefix).wait_ready()
    inside = [(read_comm(pid), pid) for pid in descendants(run.pid)]
    (agent,) = (pid for comm, pid in inside if comm == "profcol" and number_in_node(pid) == 1)
    numbers = {number_in_node(pid): pid for comm, pid in inside if comm == "burn"}
    assert len(numbers) == 2 and not numbers.keys() & set(numbers.values())
    wait_until(
        lambda: run.metrics().value("profcol_unwind_stacks", end="entry") > 400, "samples", 60
    )
    os.kill(agent, 15)
    assert run.wait_exit() == 0
    assert "processes outside of it are not profiled" in run.log

    samples = read_profile(tmp_path / "out").samples
    burning = [sample for sample in samples if sample.labels["comm"] == "burn"]
    assert {sample.labels["pid"] for sample in burning} == numbers.keys()
    for number in numbers:
        own = [sample for sample in burning if sample.labels["pid"] == number]
        whole = [s for s in own if "burn_leaf" in s.names and s.names[-1] == "_start"]
        assert sum(sample.count for sample in whole) > 50
