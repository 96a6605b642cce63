#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profcol as a gateway beside the OpenTelemetry Collector: OTLP in, OTLP out, samples per CPU
second and peak memory. `make bench-gateway` builds what it needs and calls it;
docs/performance.md has the method."""
import argparse
import datetime
import json
import pathlib
import signal
import subprocess
import sys

import capture
import children
import gateway_figures
import gateway_run
import machine
import profilers
import report
from profilers import SOURCE, NotAvailable

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


def attempt(subject, arguments, sender, case, directory):
    """A measurement, or why there is none."""
    try:
        return gateway_run.measure(subject, arguments.profcol, sender, case, directory)
    except (children.ChildFailed, TimeoutError, subprocess.SubprocessError) as failure:
        return {"failed": str(failure) or type(failure).__name__}


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
    wanted = cases(payloads(arguments, directory), arguments.compressions.split(","))
    done = []
    for index, case in enumerate(wanted):
        for number in range(1, arguments.runs + 1):
            for subject in subjects:
                place = directory / "raw" / f"{index}-{number}-{subject}"
                record_ = {"case": case.name, "subject": subject, "round": number}
                record_ |= attempt(subject, arguments, sender, case, place)
                done.append(record_)
                with (directory / "measurements.jsonl").open("a") as file:
                    file.write(json.dumps(record_) + "\n")
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


def version(program):
    result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    return " ".join(result.stdout.split()) or f"unknown, exit code {result.returncode}"


def run(arguments):
    arguments.profcol = arguments.profcol.resolve()
    check(arguments)
    versions = {
        "profcol": version(arguments.profcol),
        "Collector": version(profilers.peer("gateway")),
    }
    name = f"gateway-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    directory = (arguments.out or SOURCE / "build/bench" / name).resolve()
    if directory.exists():
        raise ValueError(f"{directory} exists; give another --out")
    directory.mkdir(parents=True)
    result = {
        "identity": {
            "commit": machine.commit(),
            "seconds": arguments.seconds,
            "clients": arguments.clients,
            "window": arguments.window,
        },
        "machine": machine.describe(versions),
        "measurements": measure_all(arguments, directory),
        "finished": datetime.datetime.now().strftime("%Y-%m-%d"),
    }
    (directory / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    text = gateway_figures.tables(result)
    (directory / "table.md").write_text(text)
    print(f"\n{text}\n{directory}: table.md, result.json")
    return not any("failed" in each for each in result["measurements"])


def main():
    arguments = parse_arguments()
    if arguments.write_docs:
        result = json.loads(arguments.write_docs.read_text())
        report.write_docs(DOCS, gateway_figures.tables(result), "gateway")
        return
    # As an interrupt does, let the `with` statements end what was started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(0 if run(arguments) else 1)
    except KeyboardInterrupt:
        sys.exit("gateway: interrupted")
    except (children.ChildFailed, TimeoutError, NotAvailable, ValueError) as failure:
        sys.exit(f"gateway: {failure}")


if __name__ == "__main__":
    main()
