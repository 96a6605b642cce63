# SPDX-License-Identifier: Apache-2.0
"""Programs that forge what their Python interpreter says of itself: chains of frames that lead in
circles or nowhere, texts and tables of 2**63 bytes, objects that change while they are read. It costs
the profiler no more than their own stacks, and these no more than their part that is forged.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import pytest

from profcol_run import pipeline
from profile_files import Samples
from python_stacks import Observed, Told, Verdict
from python_test import SETTLE_MS
from true_chains import FRAME_LIMIT
from waiting import wait_until

INTERPRETER = pathlib.Path("/usr/bin/python3.11")
LEAST_SEEN = 5  # samples of each program, taken since its interpreter is known
TOGETHER = 4

pytestmark = [
    pytest.mark.sanitized,
    pytest.mark.skipif(not INTERPRETER.exists(), reason=f"no {INTERPRETER}"),
]


@pytest.fixture(scope="module")
def ways(source):
    sys.path.insert(0, str(source / "tests/targets"))
    import python_forged

    return list(python_forged.WAYS)


@pytest.fixture(scope="module")
def seen(source, ways, start_profcol_once, start_target_once, tmp_path_factory):
    """Way to samples; and under "honest" the Observed of a program beside them."""
    directory = tmp_path_factory.mktemp("forged")
    (directory / "chains").touch()
    honest = source / "tests/targets/python_chains.py"
    command = (INTERPRETER, honest, directory, "plain,sort,methods")
    honest_one = start_target_once(*command, stdin=subprocess.PIPE)
    receiver = {
        "samples_per_second": 199,
        "timestamps": False,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")
    forged = source / "tests/targets/python_forged.py"
    found = {}
    honest_one.wait_burnt(SETTLE_MS)
    honest_one.process.stdin.write(b"go\n")
    honest_one.process.stdin.flush()

    def observe(way):
        program = start_target_once(INTERPRETER, forged, way)

        def is_enough():
            found[way] = computing_of(samples.of(program.pid))
            return count(filter(python_frames, found[way])) >= LEAST_SEEN

        wait_until(is_enough, f"samples of '{way}'", step_s=0.5)
        assert program.process.poll() is None, f"'{way}' ended"
        program.kill()

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(observe, ways))
    told = Told(directory / "chains")
    found["honest"] = Observed(told, samples.of(*told.pids), True)
    run.stop()
    return found


def count(samples):
    return sum(sample.count for sample in samples)


def computing_of(samples):
    """Those in which the forging is done: OpenSSL computes."""
    return [one for one in samples if any("PBKDF2" in (frame.name or "") for frame in one.frames)]


def python_frames(sample):
    return [frame for frame in sample.frames if not frame.file and frame.source]


def test_stacks_have_a_bound(seen, ways):
    for way in ways:
        for sample in seen[way]:
            # Files of the kernel have no folder.
            of_kernel = [one for one in sample.frames if one.file and "/" not in one.file]
            assert len(sample.frames) - len(of_kernel) <= FRAME_LIMIT + 1, way


def test_what_is_not_forged_has_its_name(seen, ways):
    for way in ways:
        names = {frames[0].name for sample in seen[way] if (frames := python_frames(sample))}
        assert names == {"compute"}, way


def test_circles_are_cut(seen):
    for way in ("itself", "two"):
        marks = {sample.mark for sample in seen[way] if python_frames(sample)}
        assert "[max_stack_depth]" in marks, way


def test_an_honest_program_beside_them_is_as_it_was(seen):
    observed = seen["honest"]
    observed.print()
    assert observed.count(Verdict.TRUE) and not observed.count(Verdict.WRONG, Verdict.CUT)
