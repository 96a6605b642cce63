# SPDX-License-Identifier: Apache-2.0
"""What a process has cost by when."""
import itertools
import os
import threading
import time

import children
import cost_curve
import pytest


def test_the_cost_of_a_process_is_told_over_time(monkeypatch):
    monkeypatch.setattr(cost_curve, "BPF_STEPS", 2)
    counts = itertools.count(1)

    class Meter:
        @staticmethod
        def snapshot():
            programs = [{"id": 1, "run_time_ns": 10 * next(counts)}]
            return {"time_unix_ns": time.time_ns(), "programs": programs}

    began = time.time()
    with children.running(["sh", "-c", "while :; do :; done"]) as process:
        with cost_curve.CostCurve(process.pid, Meter, began) as curve:
            children.wait_until(lambda: len(curve.snapshots) >= 2, "two snapshots")
            curve.finish()
    times, used = zip(*curve.cpu, strict=True)
    assert list(times) == sorted(times) and list(used) == sorted(used)
    assert 0 < used[-1] <= time.time() - began
    bpf = curve.bpf({1})
    assert [cost for _, cost in bpf] == pytest.approx([10e-9 * (1 + i) for i in range(len(bpf))])
    assert bpf[-1][0] >= times[-1] - 1e-3
    assert not any(cost for _, cost in curve.bpf(set()))


def test_a_meter_that_fails_meanwhile_is_told(monkeypatch):
    monkeypatch.setattr(cost_curve, "BPF_STEPS", 1)
    asked = threading.Event()

    class Meter:
        @staticmethod
        def snapshot():
            asked.set()
            raise children.ChildFailed("a CPU went offline")

    with cost_curve.CostCurve(os.getpid(), Meter, time.time()) as curve:
        assert asked.wait(60)
        with pytest.raises(children.ChildFailed, match="a CPU went offline"):
            curve.finish()
