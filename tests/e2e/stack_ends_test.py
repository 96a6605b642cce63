# SPDX-License-Identifier: Apache-2.0
"""A stack is whole, or its last frame says why not."""
import platform
import subprocess

import pytest

from profcol_run import pipeline, read_profile, read_samples
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
        if sample.labels.get("comm") == "burn" and user_frames(sample)
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


# Functions that no table describes, of which the stack pointer shows the caller. Where main() has
# no frame pointer it is believed of one that was called by a pointer, too.
CERTAIN = {"frame": ("direct",), "frameless": ("direct", "pointer")}


@pytest.mark.parametrize(
    "main",
    ["frame", pytest.param("frameless", marks=(pytest.mark.sanitized, pytest.mark.thorough))],
)
def test_callers_of_code_without_a_table_are_there_or_the_stack_is_marked(
    start_profcol, start_target, source, tmp_path, main
):
    if platform.machine() != "x86_64":
        pytest.skip("its functions are written for amd64")
    path, file = tmp_path / "bare_leaf", source / "tests/targets/bare_leaf.c"
    flags = ["-DFRAME"] if main == "frame" else []
    command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O2", "-fomit-frame-pointer", *flags]
    subprocess.run([*command, file, "-o", path], check=True)
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": 199})).wait_ready()
    kinds = ("direct", "pointer", "pushes", "data")
    targets = {kind: start_target(path, kind) for kind in kinds}
    for target in targets.values():
        target.wait_burnt(1500)
    run.stop()
    samples = list(read_samples(tmp_path / "out"))
    for kind, target in targets.items():
        chain = (f"{kind}_leaf", "leaf_caller", "leaf_root", "main")
        whole = marked = 0
        for sample in samples:
            if sample.labels.get("pid") != target.pid or chain[0] not in sample.names:
                continue
            if sample.mark:
                marked += sample.count
                continue
            at = sample.names.index(chain[0])
            assert sample.names[at : at + len(chain)] == chain
            whole += sample.count
        print(kind, {"whole": whole, "marked": marked})
        assert whole + marked >= 50
        # The first ones are guessed: of a stack that is copied no code is at hand.
        if kind in CERTAIN[main]:
            assert whole >= 0.7 * (whole + marked)
