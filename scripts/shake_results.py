#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of scripts/shake.sh, and adds them up.

shake_results.py add DIRECTORY CONDITION SEED REPORT   a runner's report in JUnit's format; exit code
                                                       1 if a test was not green
shake_results.py table DIRECTORY                       of all runs, by condition
"""
import collections
import pathlib
import subprocess
import sys
import time
from xml.etree import ElementTree

RESULTS = "results.tsv"
CONFIDENCE = 0.95


def outcome(case):
    """How a test of the report ended."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    is_skipped = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
    return "skipped" if is_skipped else "passed"


def cases(report):
    """(test, outcome, seconds) of each test in the report."""
    for case in ElementTree.parse(report).iter("testcase"):
        folder = case.get("classname") or ""
        name = case.get("name")
        yield name if folder in ("", name) else f"{folder}::{name}", outcome(case), case.get("time")


def add(directory, condition, seed, report):
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    when = time.strftime("%Y-%m-%dT%H:%M:%S")
    is_green = True
    with (directory / RESULTS).open("a") as results:
        for test, ended, seconds in cases(report):
            print(when, commit, condition, seed, test, ended, seconds, sep="\t", file=results)
            if ended == "failed":
                is_green = False
                print(f"  not green: {test} ({condition}, seed {seed})")
    return is_green


def excluded(runs):
    """The rate of failure that so many green runs exclude, with a confidence of 95 %."""
    return 1 - (1 - CONFIDENCE) ** (1 / runs)


def table(directory):
    counts = collections.defaultdict(collections.Counter)
    for line in (directory / RESULTS).read_text().splitlines():
        _, _, condition, _, test, ended, _ = line.split("\t")
        counts[condition, test][ended] += 1
    for condition in sorted({condition for condition, _ in counts}):
        mine = {test: count for (other, test), count in counts.items() if other == condition}
        ran = {test: count["passed"] + count["failed"] for test, count in mine.items()}
        total = sum(ran.values())
        red = {test: count for test, count in mine.items() if count["failed"]}
        if not total:
            continue
        least = min(runs for runs in ran.values() if runs)
        print(f"{condition}: {sum(map(bool, ran.values()))} tests, {total} results,", end=" ")
        print(f"{sum(count['failed'] for count in red.values())} not green; each ran {least} to", end=" ")
        print(f"{max(ran.values())} times (a test green {least} times: below", end=" ")
        print(f"{excluded(least):.1%} a run; all together: {excluded(total):.4%} a result)")
        for test, count in sorted(red.items()):
            print(f"  {count['failed']} of {ran[test]}  {test}")


def main(command, directory, *arguments):
    directory = pathlib.Path(directory)
    if command == "add":
        sys.exit(0 if add(directory, *arguments) else 1)
    table(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
