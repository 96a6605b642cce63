# SPDX-License-Identifier: Apache-2.0
"""What a profiler has cost by when: its CPU time and that of its BPF programs."""
import threading
import time

from process_usage import Cpu

CPU_STEP_S = 0.05
# Each reading opens all BPF objects of the machine; what it tells grows steadily.
BPF_STEPS = 20


class CostCurve:
    """Readings in the time of a `with` statement, by a thread of its own, which has `meter` for
    itself meanwhile.

    `cpu` are [seconds since the start, CPU seconds], `snapshots` [the same, the meter's snapshot].
    """

    def __init__(self, pid, meter, started_unix_s):
        self.cpu = []
        self.snapshots = []
        self._pid = pid
        self._meter = meter
        self._started = started_unix_s
        self._stop = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def finish(self):
        """The last readings; whatever went wrong in the thread is raised here."""
        self._stop.set()
        self._thread.join()
        if self._failure:
            raise self._failure
        self._look(with_bpf=True)

    def _run(self):
        step = 0
        try:
            while not self._stop.wait(CPU_STEP_S):
                self._look(with_bpf=step % BPF_STEPS == BPF_STEPS - 1)
                step += 1
        except Exception as failure:  # of the thread that waits for it
            self._failure = failure

    def _look(self, with_bpf):
        self.cpu.append([time.time() - self._started, Cpu.of(self._pid).total_s])
        if with_bpf:
            snapshot = self._meter.snapshot()
            self.snapshots.append([snapshot["time_unix_ns"] / 1e9 - self._started, snapshot])

    def bpf(self, own):
        """[seconds since the start, seconds of BPF run time] of the programs with these ids."""
        return [
            [when, sum(p["run_time_ns"] for p in snapshot["programs"] if p["id"] in own) / 1e9]
            for when, snapshot in self.snapshots
        ]
