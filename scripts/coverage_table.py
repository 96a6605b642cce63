#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what gcovr has counted (its JSON): lines and branches by folder, and in all."""
import collections
import json
import pathlib
import sys


def counts(file):
    """Of one file: lines and branches that were run through, and how many there are."""
    lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
    branches = [branch for line in lines for branch in line["branches"]]
    return collections.Counter(
        lines=sum(line["count"] > 0 for line in lines),
        all_lines=len(lines),
        branches=sum(branch["count"] > 0 for branch in branches),
        all_branches=len(branches),
    )


def row(name, count):
    shares = (
        f"{100 * count[what] / max(count['all_' + what], 1):5.1f} %"
        f" of {count['all_' + what]:6d} {what}"
        for what in ("lines", "branches")
    )
    print(f"{name:32s}", *shares, sep="  ")


def main(path):
    folders = collections.defaultdict(collections.Counter)
    for file in json.loads(pathlib.Path(path).read_text())["files"]:
        folder = "/".join(pathlib.PurePath(file["file"]).parts[:-1][:3])
        folders[folder] += counts(file)
    for name, count in sorted(folders.items()):
        row(name, count)
    row("all", sum(folders.values(), collections.Counter()))


if __name__ == "__main__":
    main(*sys.argv[1:])
