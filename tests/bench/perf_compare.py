#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profcol beside `perf record -a -g` at the same rate, in the same run, on a busy machine.

Prints the samples that each delivered, the CPU time each used, and the memory each needed.
CPU time is of the whole run, from start to exit, child processes included. perf record only
stores addresses: what it costs to name them comes with `perf script` and is shown apart.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import load

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/e2e"))

from profcol_run import READY, parse_balances, pipeline, processes  # noqa: E402
from waiting import wait_until  # noqa: E402


class Run:
    """A program, what it costs, and what it printed."""

    def __init__(self, command, log):
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output)
        self.peaks_kib = {}  # by process id
        self.usage = None

    def watch_memory(self):
        """Note the peaks of the process and its children so far."""
        pids = [self.process.pid]
        pids += [pid for pid, parent in processes() if parent == self.process.pid]
        for pid in pids:
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if match := re.search(r"VmHWM:\s+(\d+) kB", status):
                self.peaks_kib[pid] = int(match[1])

    def stop(self, number):
        self.process.send_signal(number)
        _, status, self.usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)

    @property
    def peak_mib(self):
        return sum(self.peaks_kib.values()) / 1024


def measure(program, seconds, rate, directory):
    """Both, side by side; the machine is busy already."""
    configuration = directory / "pipeline.yaml"
    configuration.write_text(
        json.dumps(
            pipeline(directory / "out", {"samples_per_second": rate, "reporter_interval": "5s"})
        )
    )
    data = directory / "perf.data"
    ours = Run([program, "--config", configuration], directory / "profcol.log")
    peer = Run(
        ["perf", "record", "-F", str(rate), "-a", "-g", "-o", data], directory / "perf.log"
    )
    try:
        wait_until(lambda: READY in ours.log.read_text(), "start of profcol")
        wait_until(lambda: data.exists() and data.stat().st_size, "start of perf record")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ours.watch_memory()
            peer.watch_memory()
            time.sleep(0.5)
        ours.stop(signal.SIGTERM)
        peer.stop(signal.SIGINT)
    except Exception:
        for run in (ours, peer):
            print(f"{run.log.name}:\n{run.log.read_text()}", file=sys.stderr)
        raise
    finally:
        for run in (ours, peer):
            if run.process.poll() is None:
                run.process.kill()
    return ours, peer, data


def perf_samples(data):
    """(busy, idle, lost) samples in a perf.data file, and the CPU seconds that naming takes."""
    command = ["perf", "script", "-i", data, "-F", "pid,ip,sym"]
    before = os.times()
    text = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    after = os.times()
    # A sample starts with its pid; its frames are indented by a tab.
    pids = re.findall(r"^ *(\d+)\b", text, re.MULTILINE)
    stats = subprocess.run(
        ["perf", "report", "--stats", "-i", data], capture_output=True, text=True
    ).stdout
    lost = sum(map(int, re.findall(r"LOST_SAMPLES events:\s+(\d+)", stats)))
    idle = pids.count("0")
    naming_s = after.children_user - before.children_user
    return len(pids) - idle, idle, lost, naming_s


def row(label, ours, peer):
    print(f"{label:<38}{ours:>12}{peer:>16}")


def print_table(ours, peer, data, seconds, rate):
    (balance,) = parse_balances(ours.log.read_text())
    balance.check()
    busy, idle, lost, naming_s = perf_samples(data)
    due = os.cpu_count() * rate * seconds

    print(f"{seconds} s, {os.cpu_count()} CPUs, {rate} samples/s each, about {due} due")
    row("", "profcol", "perf record -g")
    row("busy samples delivered", balance.exported, busy)
    row("idle samples (counted / stored)", balance.filtered, idle)
    row("lost", balance.lost, lost)
    for label, ours_s, peer_s in (
        ("user CPU", ours.usage.ru_utime, peer.usage.ru_utime),
        ("system CPU", ours.usage.ru_stime, peer.usage.ru_stime),
    ):
        row(f"{label}, s", f"{ours_s:.2f}", f"{peer_s:.2f}")
        row(
            f"{label} per delivered sample, us",
            f"{1e6 * ours_s / max(balance.exported, 1):.0f}",
            f"{1e6 * peer_s / max(busy + idle, 1):.0f}",
        )
    row("user CPU to name the samples, s", "included", f"{naming_s:.2f}")
    row("peak RSS, MiB", f"{ours.peak_mib:.1f}", f"{peer.peak_mib:.1f}")
    for pid, peak in ours.peaks_kib.items():
        part = "profcol itself" if pid == ours.process.pid else "its worker"
        row(f"  {part}", f"{peak / 1024:.1f}", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profcol", default=SOURCE / "build/release/profcol")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=99)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        with load.running(directory):
            ours, peer, data = measure(
                arguments.profcol, arguments.seconds, arguments.rate, directory
            )
        if ours.process.returncode:
            sys.exit(f"profcol ended with {ours.process.returncode}:\n{ours.log.read_text()}")
        print_table(ours, peer, data, arguments.seconds, arguments.rate)


if __name__ == "__main__":
    main()
