#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profcol as a gateway beside the OpenTelemetry Collector: OTLP in, OTLP out, samples per CPU
second and peak memory. `make bench-gateway` builds what it needs and calls it;
docs/performance.md has the method."""
import argparse
import json
import pathlib
import sys

import capture
import children
import gateway_figures
import gateway_run
import profilers
import report
from profilers import SOURCE, NotAvailable
from run_directory import RunDirectory, attempt

DOCS = SOURCE / "docs/performance.md"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--runs", type=int, default=3, help="rounds of each case (3)")
    parser.add_argument("--seconds", type=int, default=10, help="of a measurement (10)")
    parser.add_argument("--clients", type=int, default=8, help="connections of the sender (8)")
    parser.add_argument(
        "--window", type=int, default=64, help="requests between sender and sink (64)"
    )
    parser.add_argument("--compressions", default="gzip,none", help="by comma")
    parser.add_argument("--subjects", default="profcol,collector", help="by comma")
    parser.add_argument(
        "--payload",
        type=pathlib.Path,
        action="append",
        help="file of requests, raw or each behind its length; may be given again (a capture of"
        " the eBPF profiler if it is there, and one that is made here with profcol)",
    )
    parser.add_argument("--out", type=pathlib.Path, help="directory (build/bench/gateway-TIME)")
    parser.add_argument(
        "--profcol",
        type=pathlib.Path,
        default=SOURCE / "build/release/profcol",
        help="the program to measure (build/release/profcol)",
    )
    parser.add_argument(
        "--write-docs",
        type=pathlib.Path,
        metavar="RESULT",
        help="put the tables of a result.json into docs/performance.md, measure nothing",
    )
    return parser.parse_args()


def payloads(arguments, directory):
    """Files by name."""
    if arguments.payload:
        return {f"{each.parent.name}/{each.name}": each for each in arguments.payload}
    found = {}
    if capture.OF_REFERENCE.exists():
        found["a capture of the OpenTelemetry eBPF profiler"] = capture.OF_REFERENCE
    else:
        print(f"left out: there is no {capture.OF_REFERENCE}", file=sys.stderr)
    print(f"recording a capture: {capture.LOAD}, {capture.SECONDS} s", flush=True)
    recorded = capture.record(arguments.profcol, directory / "capture")
    found[f"a capture of profcol, load {capture.LOAD}"] = recorded
    return found


def cases(files, compressions):
    words = {"gzip": "gzip in and out", "none": "not compressed"}
    return [
        gateway_run.Case(f"{name}, {words[compression]}", path, compression)
        for name, path in files.items()
        for compression in compressions
    ]


def tell(record_):
    name = f"{record_['case']}, round {record_['round']}, {record_['subject']}"
    if "failed" in record_:
        text = f"failed: {record_['failed']}"
    else:
        rate = record_["sent"]["observations"] / record_["cpu_s"]
        text = f"{rate:,.0f} samples per CPU second, {record_['peak_rss_bytes'] >> 20} MiB"
    print(f"{name}: {text}", flush=True)


def measure_all(arguments, directory):
    """Every case in rounds, the gateways in turn within a round."""
    subjects = arguments.subjects.split(",")
    sender = gateway_run.Sender(arguments.seconds, arguments.clients, arguments.window)
    wanted = cases(payloads(arguments, directory.path), arguments.compressions.split(","))
    done = []
    for index, case in enumerate(wanted):
        for number in range(1, arguments.runs + 1):
            for subject in subjects:
                place = directory.path / "raw" / f"{index}-{number}-{subject}"
                record_ = {"case": case.name, "subject": subject, "round": number}
                record_ |= attempt(
                    gateway_run.measure, subject, arguments.profcol, sender, case, place
                )
                done.append(record_)
                directory.note(record_)
                tell(record_)
    return done


def check(arguments):
    """NotAvailable or ValueError unless all that takes part is there."""
    unknown = set(arguments.subjects.split(",")) - set(gateway_figures.COLUMNS)
    unknown |= set(arguments.compressions.split(",")) - {"gzip", "none"}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; see --help")
    if not arguments.profcol.exists():
        raise NotAvailable(f"{arguments.profcol} is not built; run: make build")
    for name in ("send", "sink", "gateway"):
        profilers.peer(name)


def run(arguments):
    arguments.profcol = arguments.profcol.resolve()
    check(arguments)
    versions = {
        "profcol": profilers.version_of(arguments.profcol),
        "Collector": profilers.version_of(profilers.peer("gateway")),
    }
    directory = RunDirectory(arguments.out, "gateway")
    measurements = measure_all(arguments, directory)
    settings = {name: getattr(arguments, name) for name in ("seconds", "clients", "window")}
    return directory.finish(settings, versions, measurements, gateway_figures.tables)


def main():
    arguments = parse_arguments()
    if arguments.write_docs:
        result = json.loads(arguments.write_docs.read_text())
        report.write_docs(DOCS, gateway_figures.tables(result), "gateway")
        return
    children.end_on_signals()
    try:
        sys.exit(0 if run(arguments) else 1)
    except KeyboardInterrupt:
        sys.exit("gateway: interrupted")
    except (children.ChildFailed, TimeoutError, NotAvailable, ValueError) as failure:
        sys.exit(f"gateway: {failure}")


if __name__ == "__main__":
    main()
