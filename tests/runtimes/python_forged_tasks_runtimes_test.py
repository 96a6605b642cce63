# SPDX-License-Identifier: Apache-2.0
"""Programs that forge what asyncio says of tasks: chains that lead in circles or nowhere, names of
2**63 characters. Their stacks are what is not forged, and end; it costs the profiler nothing else.
"""
import concurrent.futures
import os
import sys

import pytest

import pythons
from profcol_run import pipeline
from profile_files import Samples
from python_forged_test import LEAST_SEEN, TOGETHER, computing_of, count
from true_chains import FRAME_LIMIT
from waiting import wait_until

MOST_TASKS = 16  # that are followed, as bpf/runtimes/cpython.h has it
NAMES = [name for name in pythons.NAMES if pythons.minor_of(name) >= 14]

pytestmark = [pytest.mark.runtimes, pytest.mark.parametrize("name", NAMES, scope="module")]


@pytest.fixture(scope="module")
def ways(source):
    sys.path.insert(0, str(source / "tests/targets"))
    import python_forged_tasks

    return list(python_forged_tasks.WAYS)


@pytest.fixture(scope="module")
def seen(name, source, ways, start_profcol_once, start_target_once, tmp_path_factory):
    """Way to samples that are settled; without any of these the test waits in vain."""
    interpreter = pythons.path_of(name)
    directory = tmp_path_factory.mktemp("forged")
    directory.chmod(0o755)
    program = directory / "python_forged_tasks.py"
    program.write_text((source / "tests/targets/python_forged_tasks.py").read_text())
    receiver = {
        "samples_per_second": 199,
        "timestamps": False,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")
    found = {}

    def observe(way):
        target = start_target_once(interpreter, program, way)

        def is_enough():
            computing = computing_of(samples.of(target.pid))
            found[way] = [one for one in computing if is_settled(one)]
            return count(found[way]) >= LEAST_SEEN

        wait_until(is_enough, f"samples of '{way}'", step_s=0.5)
        assert target.process.poll() is None, f"'{way}' ended"
        target.kill()

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(observe, ways))
    run.stop()
    return found


def is_settled(sample):
    """Neither cut nor without a name, as the first samples of a process may be."""
    names = names_of(sample)
    return (
        "compute" in names
        and not sample.mark
        and not any(name.startswith("[name ") for name in names)
    )


def names_of(sample):
    return [frame.name or "" for frame in sample.frames]


def test_what_is_not_forged_is_there(name, seen, ways):
    for way in ways:
        for sample in seen[way]:
            assert "BaseEventLoop.run_forever" in names_of(sample), way


def test_stacks_have_a_bound(name, seen, ways):
    for way in ways:
        for sample in seen[way]:
            tasks = [one for one in names_of(sample) if one.startswith("<task")]
            assert len(tasks) <= MOST_TASKS + 1, way
            assert len(sample.frames) <= FRAME_LIMIT, way


def test_circles_end_and_say_so(name, seen):
    assert all("<awaited by more tasks>" in names_of(one) for one in seen["two"])
    assert all("<awaited by more tasks>" in names_of(one) for one in seen["futures"])
    assert all("<more coroutines>" in names_of(one) for one in seen["coroutine"])
    assert all("<awaited by several tasks>" in names_of(one) for one in seen["several"])


def test_a_wild_chain_ends_with_the_task_that_runs(name, seen):
    for way in ("awaiter_null", "awaiter_low", "awaiter_kernel", "coroutine_null"):
        for sample in seen[way]:
            assert "<task a name that is made here>" in names_of(sample), way
            assert "main" not in names_of(sample), way
