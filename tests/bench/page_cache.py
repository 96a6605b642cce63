#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `cache_directory` saves at the start: profcol starts beside programs that run, with an empty
cache and with the one that is left by that, in turns. For each: CPU time of the workers and of all
within the first seconds, and how long it takes until a whole stack of each program is sampled."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from profilers import SOURCE

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


def stacks_of(request):
    """Whether each stack of a request is whole: no mark stands in the place of its last frame."""
    dictionary = request["dictionary"]
    strings = dictionary["stringTable"]

    def is_whole(stack):
        last = dictionary["locationTable"][stack["locationIndices"][-1]]
        lines = last.get("lines", [])
        if last.get("mappingIndex") or not lines:
            return True
        function = dictionary["functionTable"][lines[0].get("functionIndex", 0)]
        return not strings[function.get("nameStrindex", 0)].startswith("[")

    return [
        bool(stack.get("locationIndices")) and is_whole(stack)
        for stack in dictionary["stackTable"]
    ]


def whole_stacks(path):
    """(process number, time in ns) of every sample whose stack is whole."""
    for line in path.read_text().splitlines():
        request = json.loads(line)
        whole = stacks_of(request)
        for resource in request["resourceProfiles"]:
            attributes = {each["key"]: each["value"] for each in resource["resource"]["attributes"]}
            pid = int(attributes.get("process.pid", {}).get("intValue", 0))
            for scope in resource["scopeProfiles"]:
                for profile in scope["profiles"]:
                    for sample in profile.get("samples", []):
                        if whole[sample.get("stackIndex", 0)]:
                            for at in sample["timestampsUnixNano"]:
                                yield pid, int(at)


def cpu_seconds(metrics):
    return {part: metrics.value("profcol_overhead_cpu_seconds", of=part) for part in PARTS}


def run_once(arguments, directory, pids):
    """What one start has cost, and when each program had its first whole stack."""
    shutil.rmtree(directory / "run", ignore_errors=True)
    receiver = {"samples_per_second": arguments.rate, "cache_directory": str(directory / "cache")}
    exporters = {"file": {"path": str(directory / "profiles.json")}}
    begin_ns = time.time_ns()
    run = Profcol(arguments.profcol, directory / "run", pipeline(None, receiver, exporters))
    run.wait_ready()
    time.sleep(arguments.seconds)
    metrics = run.metrics()
    figures = cpu_seconds(metrics)
    figures["asked of workers"] = metrics.value("profcol_worker_requests", purpose="unwind")
    figures["deferred stacks"] = sum(
        metrics.value("profcol_unwind_deferred_stacks", result=result) or 0
        for result in ("finished", "cut", "late", "no_room", "not_copied")
    )
    run.stop()
    first = {}
    for pid, at_ns in whole_stacks(directory / "profiles.json"):
        if pid in pids:
            first[pid] = min(first.get(pid, at_ns), at_ns)
    times = sorted((at_ns - begin_ns) / 1e9 for at_ns in first.values())
    figures["programs"] = len(times)
    figures["half of them, s"] = statistics.median(times)
    figures["all of them, s"] = times[-1]
    return figures


def report(cold, warm):
    print("| median (least…most) | empty cache | kept cache |\n| --- | ---: | ---: |")
    for name in cold[0]:
        cells = []
        for runs in (cold, warm):
            values = [run[name] for run in runs]
            cells.append(f"{statistics.median(values):.4g} ({min(values):.4g}…{max(values):.4g})")
        print(f"| {name} | {cells[0]} | {cells[1]} |")


def main():
    arguments = parse_arguments()
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        processes = make_programs(arguments.programs, directory)
        pids = {process.pid for process in processes}
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
    report(cold, warm)


if __name__ == "__main__":
    main()
