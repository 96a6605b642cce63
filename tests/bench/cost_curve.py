# SPDX-License-Identifier: Apache-2.0
"""What a profiler has cost by when: its CPU time and that of its BPF programs."""
import time

from process_usage import Cpu
from watch import Watch

CPU_STEP_S = 0.05
# Each reading opens all BPF objects of the machine; what it tells grows steadily.
BPF_STEPS = 20


class CostCurve(Watch):
    """Readings of both; the thread of the watch has `meter` for itself meanwhile.

    `cpu` are [seconds since the start, CPU seconds], `snapshots` [the same, the meter's snapshot].
    """

    def __init__(self, pid, meter, started_unix_s):
        super().__init__(CPU_STEP_S)
        self.cpu = []
        self.snapshots = []
        self._pid = pid
        self._meter = meter
        self._started = started_unix_s

    def finish(self):
        super().finish()
        self._look_at_bpf()

    def look(self):
        self.cpu.append([time.time() - self._started, Cpu.of(self._pid).total_s])
        if len(self.cpu) % BPF_STEPS == 0:
            self._look_at_bpf()

    def _look_at_bpf(self):
        snapshot = self._meter.snapshot()
        self.snapshots.append([snapshot["time_unix_ns"] / 1e9 - self._started, snapshot])

    def bpf(self, own):
        """[seconds since the start, seconds of BPF run time] of the programs with these ids."""
        return [
            [when, sum(p["run_time_ns"] for p in snapshot["programs"] if p["id"] in own) / 1e9]
            for when, snapshot in self.snapshots
        ]
