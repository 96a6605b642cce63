# SPDX-License-Identifier: Apache-2.0
"""A stack is whole, or its last frame says why not."""
import pytest

from profcol_run import pipeline, read_profile
from waiting import wait_until

DEPTH = "[max_stack_depth]"


def sampled_until(run, end):
    """Wait until a stack has ended so."""
    wait_until(lambda: run.metrics().value("profcol_unwind_stacks", end=end) > 20, f"end={end}")


def user_frames(sample):
    """Those of files: neither the kernel's nor a mark."""
    return [frame for frame in sample.frames if frame.file.startswith("/")]


@pytest.mark.sanitized
def test_a_whole_stack_has_no_mark(start_profcol, burner, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": 199})).wait_ready()
    sampled_until(run, "entry")
    burner.wait_burnt(1000)
    run.stop()

    samples = [
        sample
        for sample in read_profile(tmp_path / "out").of_pid(burner.pid)
        if sample.labels["comm"] == "burn" and user_frames(sample)
    ]
    whole = [sample for sample in samples if sample.names[-1] == "_start"]
    assert sum(sample.count for sample in whole) >= 50
    assert not any((name or "").startswith("[") for sample in whole for name in sample.names)
    # What ends otherwise says why, unless the name was not there in time.
    others = {sample.names[-1] for sample in samples} - {"_start", None}
    assert all(name.startswith("[") for name in others), others


@pytest.mark.sanitized
def test_a_stack_is_followed_as_far_as_wanted(start_profcol, burner, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out", {"max_stack_depth": 2, "samples_per_second": 199})).wait_ready()
    sampled_until(run, "depth")
    burner.wait_burnt(1000)
    run.stop()

    samples = read_profile(tmp_path / "out").of_pid(burner.pid)
    cut = [sample for sample in samples if DEPTH in sample.names]
    assert sum(sample.count for sample in cut) >= 50
    for sample in cut:
        assert sample.names[-1] == DEPTH
        assert len(user_frames(sample)) == 2
    # The leaf's end is what is kept.
    assert ("burn_leaf", "burn_middle", DEPTH) in {sample.names for sample in cut}
