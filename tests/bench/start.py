#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a profiler that starts on a machine with 200 busy processes has a complete stack of
each, and what that takes; profcol beside the reference. `make bench-start` builds what it needs and
calls it; docs/performance.md has the method."""
import argparse
import datetime
import json
import pathlib
import signal
import subprocess
import sys

import children
import load_run
import machine
import plan
import report
import start_figures
import start_run
from profilers import SOURCE, NotAvailable, Profilers

DOCS = SOURCE / "docs/performance.md"
# What a measurement takes beside the seconds that are looked at: seen on 2 CPUs, and only told.
OVERHEAD_S = 25
# What one measurement can come to without ending the run. A child's answer may be none of JSON's.
FAILURES = (children.ChildFailed, subprocess.SubprocessError, OSError, KeyError, ValueError)


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


def attempt(start, profiler, directory):
    """A measurement, or why there is none."""
    try:
        return start_run.measure_start(start, profiler, directory)
    except FAILURES as failure:
        return {"failed": str(failure) or type(failure).__name__}


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
            place = directory / "raw" / f"{number}-{name}"
            record |= attempt(start, compared.otlp(name), place)
            done.append(record)
            with (directory / "measurements.jsonl").open("a") as file:
                file.write(json.dumps(record) + "\n")
            tell(record)
    return done


def known_profilers(text):
    names = [name for name in text.split(",") if name]
    unknown = set(names) - set(start_figures.COLUMNS)
    if unknown or not names:
        raise ValueError(
            f"no profiler {', '.join(sorted(unknown)) or 'given'}; there is"
            f" {', '.join(start_figures.COLUMNS)}"
        )
    return names


def run(arguments):
    compared = Profilers(arguments.profcol)
    names = compared.usable(known_profilers(arguments.profilers))
    versions = {name: compared.version(name) for name in names}
    default = SOURCE / f"build/bench/start-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    directory = (arguments.out or default).resolve()
    if directory.exists():
        raise ValueError(f"{directory} exists; give another --out")
    directory.mkdir(parents=True)
    count = arguments.runs * len(names)
    minutes = count * (arguments.seconds + OVERHEAD_S) / 60
    print(f"{count} starts into {directory}\nabout {minutes:.0f} minutes", flush=True)
    result = {
        "identity": {
            "commit": machine.commit(),
            "seconds": arguments.seconds,
            "rate": arguments.rate,
            "profilers": names,
        },
        "machine": machine.describe(versions),
        "measurements": measure_all(arguments, compared, names, directory),
        "finished": datetime.datetime.now().strftime("%Y-%m-%d"),
    }
    (directory / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    text = start_figures.tables(result)
    (directory / "table.md").write_text(text)
    print(f"\n{text}\n{directory}: table.md, result.json")
    return not any("failed" in each for each in result["measurements"])


def main():
    arguments = parse_arguments()
    # As an interrupt does, let the `with` statements end what was started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
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
