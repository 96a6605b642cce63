# SPDX-License-Identifier: Apache-2.0
"""Frames of Java's virtual threads: those on the stack, a mark for those in the heap, and the frames of
the thread that carries it.
"""
import pathlib
import subprocess

import pytest

from profcol_run import pipeline, read_profile
from target_run import cpu_ms
from waiting import wait_until

JDK = pathlib.Path("/usr/lib/jvm/temurin-25-jdk-amd64")
MAIN = "JavaVirtual"
IN_HEAP = "[virtual thread: frames in the heap]"
CARRIER = "jdk.internal.vm.Continuation.run"
DEPTH = 30
# CPU time: before its stacks are judged, and while they are.
SETTLE_MS, BURN_MS = 3000, 3000


@pytest.fixture
def burning(start_profcol, start_target, source, tmp_path):
    """burning(arguments): the samples of a program that has run for some time, in `burn`, and how many
    stacks the profiler has counted as ones with a gap.
    """
    if not (JDK / "bin/javac").exists():
        pytest.skip(f"no JDK with virtual threads in {JDK}")
    file = source / f"tests/targets/{MAIN}.java"
    subprocess.run([JDK / "bin/javac", "-d", tmp_path, file], check=True, timeout=120)

    def run(*arguments):
        java = JDK / "bin/java"
        target = start_target(java, "-cp", tmp_path, MAIN, *arguments, stdout=subprocess.PIPE)
        assert target.process.stdout.readline() == b"ready\n"
        receiver = {"samples_per_second": 499, "select": {"include": [{"pid": target.pid}]}}
        profcol = start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()
        goal = cpu_ms(target.pid) + SETTLE_MS + BURN_MS
        wait_until(lambda: cpu_ms(target.pid) >= goal, "CPU time of the virtual thread")
        gaps = profcol.metrics().value("profcol_runtime_gaps")
        profcol.stop()
        samples = read_profile(tmp_path / "out").of_pid(target.pid)
        return [sample for sample in samples if f"{MAIN}.burn" in sample.names], gaps

    return run


def counts(samples, *runs):
    """How many of them have these functions behind each other, from a callee to its callers."""
    at = range(len(runs))
    return sum(
        sample.count
        for sample in samples
        if any(
            all(sample.names[start + i : start + i + 1] == (runs[i],) for i in at)
            for start in range(len(sample.names))
        )
    )


@pytest.mark.thorough
def test_a_mark_stands_for_frames_in_the_heap(burning):
    samples, gaps = burning()
    marked = counts(samples, f"{MAIN}.deep", IN_HEAP, CARRIER)
    assert marked >= 50, sum(sample.count for sample in samples)
    # Before the JVM is known there are other stacks; it may be sampled where it comes back.
    assert marked > sum(sample.count for sample in samples) / 2
    assert counts(samples, IN_HEAP) == counts(samples, IN_HEAP, CARRIER)
    assert gaps


@pytest.mark.thorough
def test_frames_on_the_stack_are_whole(burning):
    samples, _ = burning("awake")
    whole = (f"{MAIN}.burn", *[f"{MAIN}.deep"] * (DEPTH + 1), f"{MAIN}.begin")
    assert counts(samples, *whole) >= 50
    assert counts(samples, *whole) > sum(sample.count for sample in samples) / 2
    assert not counts(samples, IN_HEAP)
