#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profcol beside the reference profiler and `perf record -g`: the same loads, in turn, on one
machine. `make bench` builds what it needs and calls it; docs/performance.md has the method."""
import argparse
import datetime
import json
import pathlib
import platform
import sys
import time

import children
import comparison
import figures
import journal
import load_run
import machine
import measure
import plan
import report
from profilers import SOURCE, NotAvailable, Profilers
from run_directory import attempt

DOCS = SOURCE / "docs/performance.md"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--load", default=",".join(plan.LOADS), help="loads, by comma")
    parser.add_argument("--runs", type=int, default=3, help="rounds of each case (3)")
    parser.add_argument("--seconds", type=int, help="of a measurement (20, for storm 70)")
    parser.add_argument("--rate", type=int, help="samples a second (99, for mixed also 20)")
    parser.add_argument("--profilers", default=",".join(plan.PROFILERS), help="by comma")
    parser.add_argument("--out", type=pathlib.Path, help="directory (build/bench/TIME-COMMIT)")
    parser.add_argument("--resume", type=pathlib.Path, help="directory of a run to go on with")
    parser.add_argument(
        "--profcol",
        type=pathlib.Path,
        default=SOURCE / "build/release/profcol",
        help="the program to measure (build/release/profcol)",
    )
    parser.add_argument(
        "--due-counter",
        type=pathlib.Path,
        default=SOURCE / "build/release/tests/bench/meter/due_counter",
    )
    parser.add_argument(
        "--write-docs",
        type=pathlib.Path,
        metavar="RESULT",
        help="put the tables of a result.json into docs/performance.md, measure nothing",
    )
    parser.add_argument(
        "--compare",
        type=pathlib.Path,
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="print two result.json beside each other, figure by figure, measure nothing; with"
        " --write-docs put that into docs/performance.md too",
    )
    return parser.parse_args()


def identity(arguments, compared, profilers):
    """What makes two runs the same run. `profilers` are the names of those that take part."""
    programs = compared.programs(profilers) | {"due_counter": arguments.due_counter}
    return {
        "commit": machine.commit(),
        "kernel": platform.release(),
        "programs": {name: machine.digest([path]) for name, path in sorted(programs.items())},
        "bench": machine.digest(machine.bench_sources()),
        "loads": arguments.load,
        "rounds": arguments.runs,
        "seconds": arguments.seconds,
        "rate": arguments.rate,
        "profilers": profilers,
    }


def choose_journal(arguments, wanted):
    """The run to go on with, or a new one."""
    named = arguments.resume or arguments.out
    if named and (journal.Journal(named).plan_path.exists() or arguments.resume):
        return resumed(named, wanted)
    parent = SOURCE / "build/bench"
    if not named and (chosen := journal.unfinished(parent, wanted)):
        return chosen
    name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{wanted['commit']}"
    chosen = journal.Journal(named or parent / name)
    chosen.begin(wanted)
    return chosen


def resumed(directory, wanted):
    """The run in this directory, if it is one of the same."""
    chosen = journal.Journal(directory)
    if not chosen.plan_path.exists():
        sys.exit(f"bench: {directory} holds no run: there is no plan.json in it")
    if chosen.identity() != wanted:
        sys.exit(
            f"bench: {directory} measured something else: compare its plan.json; give the"
            " parameters and the programs of that run, or another directory"
        )
    return chosen


def announce(steps, remaining, chosen):
    print(f"{len(steps)} measurements into {chosen.directory}")
    if len(remaining) < len(steps):
        print(f"{len(steps) - len(remaining)} are there already")
    parts = plan.estimates_s(remaining)
    each = ", ".join(f"{load} {part / 60:.0f}" for load, part in parts.items())
    detail = f": {each}" if len(parts) > 1 else ""
    print(f"about {sum(parts.values()) / 60:.0f} minutes{detail}", flush=True)


def run_step(bench, step, chosen):
    """Measure, and note the outcome, good or bad."""
    record = {
        "key": step.key,
        "case": step.case.name,
        "rate": step.case.rate,
        "counted": step.case.counted,
        "round": step.round,
        "profiler": step.profiler,
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
    directory = chosen.directory / "raw" / step.key.replace(" ", "-")
    begin = time.monotonic()
    record |= attempt(measure.measure, bench, step, directory)
    record["took_s"] = round(time.monotonic() - begin, 1)
    chosen.append(record)
    return record


def tell(step, record):
    if "failed" in record:
        text = f"failed: {record['failed']}"
    else:
        text = f"{figures.due(record):,} due"
        if (count := figures.delivered(record)) is not None:
            text += f", {count:,} delivered"
        if (share := figures.others_share(record)) is not None:
            mark = " (NOT QUIET)" if share > figures.OTHERS_MOST else ""
            text += f", {100 * share:.1f} % of other programs{mark}"
    print(f"{record['took_s']:6.1f} s  {step.key}: {text}", flush=True)


def finish(chosen, steps, wanted, description):
    """Write result.json and table.md, print the table. True when nothing failed."""
    done = chosen.measurements()
    measurements = [done[step.key] for step in steps]
    result = {
        "identity": wanted,
        "machine": description,
        "finished": datetime.datetime.now().strftime("%Y-%m-%d"),
        "measurements": measurements,
    }
    text = report.tables(result)
    (chosen.directory / "table.md").write_text(text)
    differences = figures.unequal_work(measurements)
    for difference in differences:
        print(f"bench: the loads did not do the same work: {difference}", file=sys.stderr)
    succeeded = not differences and not any("failed" in each for each in measurements)
    # Without the result a second call repeats what failed.
    path = chosen.result_path if succeeded else chosen.result_path.with_suffix(".failed.json")
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{text}\n{chosen.directory}: table.md, {path.name}")
    return succeeded


def run(arguments):
    compared = Profilers(arguments.profcol)
    known = plan.known_profilers(arguments.profilers.split(","))
    names = compared.usable(known)
    loads = [load for load in arguments.load.split(",") if load]
    cases = plan.cases(loads, arguments.rate, arguments.seconds)
    steps = plan.steps(cases, arguments.runs, names)
    wanted = identity(arguments, compared, names)
    description = machine.describe({name: compared.version(name) for name in names})
    chosen = choose_journal(arguments, wanted)
    remaining = chosen.remaining(steps)
    announce(steps, remaining, chosen)
    for load in loads:
        load_run.prepare(load)
    bench = measure.Bench(arguments.due_counter, compared)
    for step in remaining:
        tell(step, run_step(bench, step, chosen))
    return finish(chosen, steps, wanted, description)


def print_or_write(arguments):
    """What is made from results that are there."""
    text = None
    if arguments.compare:
        text = comparison.two_runs(*(json.loads(path.read_text()) for path in arguments.compare))
        print(text)
    if arguments.write_docs:
        result = json.loads(arguments.write_docs.read_text())
        report.write_docs(DOCS, report.tables(result))
        report.write_docs(DOCS, comparison.with_earlier(result), "earlier")
        if text:
            report.write_docs(DOCS, text, "runs")


def main():
    arguments = parse_arguments()
    children.end_on_signals()
    try:
        if arguments.write_docs or arguments.compare:
            print_or_write(arguments)
        elif not run(arguments):
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; the same command goes on from here")
    except (children.ChildFailed, NotAvailable, ValueError, OSError) as failure:
        sys.exit(f"bench: {failure}")


if __name__ == "__main__":
    main()
