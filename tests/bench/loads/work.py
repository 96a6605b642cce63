# SPDX-License-Identifier: Apache-2.0
"""Programs that work in units: start them, and count and check what they report."""
import contextlib
import dataclasses
import os
import subprocess
import time

DRAIN_S = 0.2
READY_BOUND_S = 120


class WorkError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Program:
    """One process. It works at full speed after `warm_up` units; without checksum it has none."""

    name: str
    command: tuple
    checksum: str = None
    warm_up: int = 0

    def start(self, processes, report):
        return [processes.start(self.command, stdin=subprocess.DEVNULL, stdout=report)]


@dataclasses.dataclass(frozen=True)
class Ring:
    """Programs each of which reads what the one before it writes; all report on FD.

    Their commands end with FD, that of the first one with FD and the number of tokens.
    """

    name: str
    commands: tuple
    tokens: int
    checksum: str
    warm_up: int = 0

    def start(self, processes, report):
        # Only as many pipes open at a time as are needed for the next member: the ring may have
        # more members than a process may have files.
        stdin, into_first = os.pipe()
        started = []
        for index, command in enumerate(self.commands):
            is_last = index + 1 == len(self.commands)
            following, stdout = (None, into_first) if is_last else os.pipe()
            tokens = () if index else (self.tokens,)
            started.append(
                processes.start(
                    (*command, report, *tokens),
                    stdin=stdin,
                    stdout=stdout,
                    pass_fds=(report,),
                )
            )
            os.close(stdin)
            os.close(stdout)
            stdin = following
        return started


class Worker:
    """A running Program or Ring."""

    def __init__(self, program, processes):
        self.program = program
        self.units = 0
        self.missed = 0
        self._rest = b""
        self._report, report = os.pipe()
        os.set_blocking(self._report, False)
        self.started = program.start(processes, report)
        os.close(report)

    @property
    def is_warm(self):
        return self.units >= self.program.warm_up

    def drain(self):
        """Count what was reported since the last time."""
        with contextlib.suppress(BlockingIOError):
            while text := os.read(self._report, 1 << 16):
                self._rest += text
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            self._count(line.decode("ascii", "replace"))
        for process in self.started:
            if process.poll() is not None:
                raise WorkError(
                    f"{self.program.name} (process {process.pid}) ended with "
                    f"{process.returncode}; it must work until it is killed"
                )

    def _count(self, line):
        if line == "missed":
            self.missed += 1
        elif line == self.program.checksum:
            self.units += 1
        else:
            raise WorkError(
                f"{self.program.name} did other work than it should: checksum {line}, "
                f"expected {self.program.checksum}"
            )


class Work:
    """All workers of a load."""

    def __init__(self, programs, processes):
        self._workers = [Worker(program, processes) for program in programs]

    def _drain(self):
        for worker in self._workers:
            worker.drain()

    def wait_ready(self):
        """Until all work at full speed."""
        end = time.monotonic() + READY_BOUND_S
        while not all(worker.is_warm for worker in self._workers):
            slow = [worker.program.name for worker in self._workers if not worker.is_warm]
            if time.monotonic() > end:
                raise WorkError(f"still not warm after {READY_BOUND_S} s: {', '.join(slow)}")
            time.sleep(DRAIN_S)
            self._drain()

    def measure(self, seconds):
        """Seconds that it really took; the workers' counts are of these seconds."""
        self._drain()
        for worker in self._workers:
            worker.units = worker.missed = 0
        start = time.monotonic()
        while (left := start + seconds - time.monotonic()) > 0:
            time.sleep(min(left, DRAIN_S))
            self._drain()
        return time.monotonic() - start

    def _sums(self, value):
        sums = {}
        for worker in self._workers:
            if worker.program.checksum:
                name = worker.program.name
                sums[name] = sums.get(name, 0) + value(worker)
        return sums

    def result(self):
        pids = {}
        for worker in self._workers:
            pids.setdefault(worker.program.name, []).extend(
                process.pid for process in worker.started
            )
        return {
            "units": self._sums(lambda worker: worker.units),
            "missed": sum(worker.missed for worker in self._workers),
            "checksums": {
                worker.program.name: worker.program.checksum
                for worker in self._workers
                if worker.program.checksum
            },
            "programs": pids,
        }
