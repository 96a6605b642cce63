#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a profiler that starts on a machine with 200 busy processes has a complete stack of
each, and what that takes; profcol beside the reference. `make bench-start` builds what it needs and
calls it; docs/performance.md has the method."""
import argparse
import json
import pathlib
import sys

import children
import load_run
import plan
import report
import start_figures
import start_run
from profilers import SOURCE, NotAvailable, Profilers
from run_directory import RunDirectory, attempt

DOCS = SOURCE / "docs/performance.md"
# What a measurement takes beside the seconds that are looked at: seen on 2 CPUs, and only told.
OVERHEAD_S = 25


def parse_arguments():
    build = SOURCE / "build/release"
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--runs", type=int, default=3, help="rounds (3)")
    parser.add_argument("--seconds", type=int, default=20, help="looked at from the start on (20)")
    parser.add_argument("--rate", type=int, default=plan.DEFAULT_RATE, help="samples a second (99)")
    parser.add_argument("--profilers", default=",".join(start_figures.COLUMNS), help="by comma")
    parser.add_argument("--out", type=pathlib.Path, help="directory (build/bench/start-TIME)")
    parser.add_argument(
        "--profcol",
        type=pathlib.Path,
        default=build / "profcol",
        help="the program to measure (build/release/profcol)",
    )
    parser.add_argument(
        "--due-counter", type=pathlib.Path, default=build / "tests/bench/meter/due_counter"
    )
    parser.add_argument(
        "--write-docs",
        type=pathlib.Path,
        metavar="RESULT",
        help="put the tables of a result.json into docs/performance.md, measure nothing",
    )
    return parser.parse_args()


def tell(record):
    name = f"round {record['round']}, {record['profiler']}"
    if "failed" in record:
        print(f"{name}: failed: {record['failed']}", flush=True)
        return
    summary = start_figures.summarize([record])
    texts = [
        f"{figure.label} {report.cell(summary[figure.label], figure.unit)}"
        for figure in start_figures.FIGURES[:6]
    ]
    print(f"{name}: {', '.join(texts)}", flush=True)


def measure_all(arguments, compared, names, directory):
    """In rounds, the profilers in turn within a round."""
    load_run.prepare(start_run.LOAD)
    start = start_run.Start(arguments.seconds, arguments.rate, arguments.due_counter)
    done = []
    for number in range(1, arguments.runs + 1):
        for name in names:
            record = {"profiler": name, "round": number}
            place = directory.path / "raw" / f"{number}-{name}"
            record |= attempt(start_run.measure_start, start, compared.otlp(name), place)
            done.append(record)
            directory.note(record)
            tell(record)
    return done


def run(arguments):
    compared = Profilers(arguments.profcol)
    known = plan.known_profilers(arguments.profilers.split(","), start_figures.COLUMNS)
    names = compared.usable(known)
    versions = {name: compared.version(name) for name in names}
    directory = RunDirectory(arguments.out, "start")
    count = arguments.runs * len(names)
    minutes = count * (arguments.seconds + OVERHEAD_S) / 60
    print(f"{count} starts into {directory.path}\nabout {minutes:.0f} minutes", flush=True)
    measurements = measure_all(arguments, compared, names, directory)
    settings = {"seconds": arguments.seconds, "rate": arguments.rate, "profilers": names}
    return directory.finish(settings, versions, measurements, start_figures.tables)


def main():
    arguments = parse_arguments()
    children.end_on_signals()
    try:
        if arguments.write_docs:
            result = json.loads(arguments.write_docs.read_text())
            report.write_docs(DOCS, start_figures.tables(result), "start")
        elif not run(arguments):
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit("bench-start: interrupted")
    except (children.ChildFailed, NotAvailable, ValueError, OSError) as failure:
        sys.exit(f"bench-start: {failure}")


if __name__ == "__main__":
    main()
