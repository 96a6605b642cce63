#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `cache_directory` saves at the start: profcol starts beside programs that run, with an empty
cache and with the one that is left by that, in turns. For each: CPU time of the workers and of all
within the first seconds, and how long it takes until a whole stack of each program is sampled."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import children
import figures
import report
import start_figures
import start_run
from profilers import SOURCE, NotAvailable, peer

sys.path.append(str(SOURCE / "tests/e2e"))

from profcol_run import Profcol, pipeline

INTERPRETER = "/usr/bin/python3"
# Some ms of work, in the interpreter and in the C library, then a rest.
SCRIPT = """
import random, re, time
while True:
    text = " ".join(str(random.random()) for _ in range(2000))
    sorted(re.findall("[0-9]+", text))
    time.sleep(0.05)
"""
PARTS = ("workers", "agent", "bpf")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--programs", type=int, default=40, help="how many there are (40)")
    parser.add_argument("--rounds", type=int, default=5, help="starts with each cache (5)")
    parser.add_argument("--seconds", type=int, default=10, help="of each (10)")
    parser.add_argument("--rate", type=int, default=99, help="samples a second (99)")
    parser.add_argument("--profcol", type=pathlib.Path, default=SOURCE / "build/release/profcol")
    return parser.parse_args()


def make_programs(count, directory):
    """Interpreters that are told apart by their content, and run."""
    code = pathlib.Path(INTERPRETER).resolve().read_bytes()
    processes = []
    for number in range(count):
        path = directory / f"program_{number}"
        path.write_bytes(code + number.to_bytes(8, "little"))
        path.chmod(0o755)
        processes.append(subprocess.Popen([path, "-c", SCRIPT]))
    return processes


def cpu_seconds(metrics):
    return {part: metrics.value("profcol_overhead_cpu_seconds", of=part) for part in PARTS}


def run_once(arguments, directory, pids):
    """What one start has cost, and when the programs had their first whole stacks."""
    shutil.rmtree(directory / "run", ignore_errors=True)
    receiver = {"samples_per_second": arguments.rate, "cache_directory": str(directory / "cache")}
    stream = directory / "requests"
    exporters = {"file": {"path": str(stream), "format": "proto"}}
    begin_s = time.time()
    run = Profcol(arguments.profcol, directory / "run", pipeline(None, receiver, exporters))
    try:
        run.wait_ready()
        time.sleep(arguments.seconds)
        metrics = run.metrics()
        run.stop()
    finally:
        run.kill()
    found = cpu_seconds(metrics)
    found["asked of workers"] = metrics.value("profcol_worker_requests", purpose="unwind")
    found["deferred stacks"] = sum(
        metrics.value("profcol_unwind_deferred_stacks", result=result) or 0
        for result in ("finished", "cut", "late", "no_room", "not_copied")
    )
    seconds = int(time.time() - begin_s) + 1
    stacks = start_run.first_stacks(stream, begin_s, seconds, {"python3": pids})
    times = [each["complete_s"] for each in stacks]
    found["programs"] = sum(each is not None for each in times)
    found["half of them, s"] = start_figures.quantile(times, 0.5)
    found["all of them, s"] = start_figures.quantile(times, 1)
    return found


def table(cold, warm):
    def cell(runs, name):
        return report.cell(figures.spread([run[name] for run in runs]), "")

    rows = [[name, cell(cold, name), cell(warm, name)] for name in cold[0]]
    return report.table(["median (least…most)", "empty cache", "kept cache"], rows)


def main():
    arguments = parse_arguments()
    peer("inspect")
    children.end_on_signals()
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        processes = make_programs(arguments.programs, directory)
        pids = [process.pid for process in processes]
        try:
            time.sleep(2)
            for _ in range(arguments.rounds):
                shutil.rmtree(directory / "cache", ignore_errors=True)
                cold.append(run_once(arguments, directory, pids))
                warm.append(run_once(arguments, directory, pids))
        finally:
            for process in processes:
                process.kill()
                process.wait()
    print(table(cold, warm))


if __name__ == "__main__":
    try:
        main()
    except (children.ChildFailed, NotAvailable) as failure:
        sys.exit(f"page_cache: {failure}")
