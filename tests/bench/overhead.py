#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profcol under a limit of `overhead`, beside one without: is the limit kept, and do samples times
period still say how long each program has run? Both sample the same load at the same time.
`make bench-overhead` builds what it needs and calls it; docs/performance.md has the method."""
import argparse
import collections
import pathlib
import sys
import tempfile
import time

import children
import load_run
import overhead_figures
from profilers import SOURCE

sys.path.append(str(SOURCE / "tests/e2e"))

from profcol_run import Profcol, pipeline, read_samples

# Twenty seconds are left out after the start, then it takes some windows of ten to thirty.
SETTLE_S = 120
PARTS = ("agent", "workers", "bpf")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--overhead", default="cpu=0.5%", help="the limits: cpu=0.5%%,memory=64MiB")
    parser.add_argument("--load", default="mixed", help="what is sampled (mixed)")
    parser.add_argument("--rate", type=int, default=99, help="samples a second (99)")
    parser.add_argument("--seconds", type=int, default=120, help="of the measurement (120)")
    parser.add_argument("--settle", type=int, default=SETTLE_S, help="seconds before (120)")
    parser.add_argument("--profcol", type=pathlib.Path, default=SOURCE / "build/release/profcol")
    return parser.parse_args()


def start(arguments, directory, limits):
    options = {"samples_per_second": arguments.rate, "reporter_interval": "5s"}
    options |= {"overhead": limits} if limits else {}
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "30s"}}
    return Profcol(arguments.profcol, directory, pipeline(None, options, exporters))


def read(run):
    """(when, CPU seconds by now, bytes now, nanoseconds between samples)"""
    metrics = run.metrics()
    return (
        time.monotonic(),
        sum(metrics.value("profcol_overhead_cpu_seconds", of=part) for part in PARTS),
        sum(metrics.value("profcol_overhead_memory_bytes", of=part) for part in PARTS),
        1e9 * metrics.value("profcol_sampling_period_seconds"),
    )


def programs(directory):
    """(samples, seconds) of each program."""
    found = collections.defaultdict(lambda: [0, 0.0])
    for sample in read_samples(directory / "profiles"):
        into = found[sample.labels.get("comm", "")]
        into[0] += sample.values[0]
        into[1] += sample.values[1] / 1e9
    return found


def measure(arguments, limits, directory):
    places = {"limited": limits, "unlimited": None}
    runs = {}
    try:
        for name, each in places.items():
            runs[name] = start(arguments, directory / name, each)
        for run in runs.values():
            run.wait_ready()
        seconds = arguments.settle + arguments.seconds
        with load_run.running(arguments.load, seconds) as load:
            time.sleep(arguments.settle)
            before = {name: read(run) for name, run in runs.items()}
            time.sleep(arguments.seconds)
            after = {name: read(run) for name, run in runs.items()}
            load.finish(60)
        for run in runs.values():
            run.stop()
    finally:
        for run in runs.values():
            run.kill()
    return overhead_figures.Result(
        cost={name: overhead_figures.cost(before[name], after[name]) for name in runs},
        programs={name: programs(directory / name) for name in runs},
    )


def main():
    arguments = parse_arguments()
    limits = overhead_figures.parse_limits(arguments.overhead)
    load_run.prepare(arguments.load)
    children.end_on_signals()
    with tempfile.TemporaryDirectory(prefix="profcol-overhead-") as directory:
        result = measure(arguments, limits, pathlib.Path(directory))
    print(overhead_figures.table(result, limits))
    complaints = overhead_figures.complaints(result, limits)
    for complaint in complaints:
        print(f"bench-overhead: {complaint}", file=sys.stderr)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    try:
        main()
    except (children.ChildFailed, AssertionError, ValueError, OSError) as failure:
        sys.exit(f"bench-overhead: {failure}")
