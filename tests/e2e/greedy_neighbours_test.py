# SPDX-License-Identifier: Apache-2.0
"""An ordinary user who takes as much as he can of what processes share in the profiler: others
have their share of it all the same.
"""
import os
import pathlib
import subprocess
import tempfile

import pytest

from odd_neighbour import assert_whole, named, since_exec
from target_run import as_user
from waiting import wait_until

USER = 12345
BURN_MS = 1000  # of CPU time, at 199 samples a second
LEAST = 60  # samples of that
# Each with 505 unwind rules of its own: the kernel side has room for 4,094.
FILLERS = 12
CHAIN = ("burn_leaf", "link_0", "link_19", "main", "_start")


def compile_target(source, name, path, *flags):
    command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-fomit-frame-pointer", *flags]
    subprocess.run([*command, source / f"tests/targets/{name}.c", "-o", path], check=True)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def built(source):
    """A directory that others may enter, with the programs of these tests."""
    with tempfile.TemporaryDirectory(prefix="profcol-test-") as name:
        directory = pathlib.Path(name)
        os.chmod(directory, 0o755)
        compile_target(source, "odd_process", directory / "ordinary", "-pthread")
        compile_target(source, "wide_frames", directory / "wide")
        compile_target(source, "greedy", directory / "greedy", "-pthread")
        for number in range(FILLERS):
            path = directory / f"rules{number}"
            compile_target(source, "many_rules", path, f"-DNUMBER={number}")
        yield directory


def as_ordinary(*command):
    """`command` as an ordinary user runs it, who leaves some of the CPU to others."""
    return as_user(USER, "nice", "-n", "19", *command)


def check_later(samples, path, later):
    """Who came after those was known as well as any."""
    own = since_exec(samples[later.pid], path)
    assert_whole(own, LEAST, share=0.9, first_moments=0.2)
    whole = [sample for sample in own if not sample.mark and "burn_leaf" in sample.names]
    assert named(whole, *CHAIN) >= 0.98 * sum(sample.count for sample in whole)


def test_unwind_rules(around, built):
    around.profile()
    for number in range(FILLERS):
        around.start(*as_ordinary(built / f"rules{number}"))

    def are_refused():
        return around.run.metrics().value("profcol_unwind_rules_refused")

    wait_until(are_refused, "more rules than one user may have")
    later = around.start(built / "wide").wait_burnt(BURN_MS)
    around.await_samples()
    check_later(around.finish(), built / "wide", later)


@pytest.fixture
def own_directory(open_path):
    """One of the user's."""
    path = open_path / "own"
    path.mkdir()
    os.chown(path, USER, USER)
    return path


@pytest.mark.parametrize(
    "how, count, processes",
    [
        pytest.param("files", 20000, 1, marks=pytest.mark.thorough),
        pytest.param("mappings", 0, 3, marks=pytest.mark.thorough),
        ("map", 0, 2),
        ("execute", 0, 2),
        ("processes", 100, 1),
    ],
)
def test_processes(around, built, own_directory, how, count, processes):
    around.profile()
    greedy = (built / "greedy", how, own_directory, count)
    for _ in range(processes):
        around.start(*as_ordinary(*greedy))
    later = around.start(built / "wide").wait_burnt(BURN_MS)
    around.await_samples()
    check_later(around.finish(), built / "wide", later)
