# SPDX-License-Identifier: Apache-2.0
"""The files of a run: what it measures, and every measurement as soon as it is there.

A run that was interrupted goes on where it stopped, as long as it would measure the same.
"""
import json
import os
import pathlib


class Journal:
    """A directory with `plan.json` and `measurements.jsonl`."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.plan_path = self.directory / "plan.json"
        self.measurements_path = self.directory / "measurements.jsonl"
        self.result_path = self.directory / "result.json"

    def begin(self, identity):
        """A new run, whose `identity` says what is measured with what."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.plan_path.write_text(json.dumps(identity, indent=1) + "\n")

    def identity(self):
        return json.loads(self.plan_path.read_text())

    def append(self, measurement):
        with self.measurements_path.open("a") as file:
            # On a line of its own, even after one that was cut off.
            file.write(f"\n{json.dumps(measurement)}\n")
            file.flush()
            os.fsync(file.fileno())

    def measurements(self):
        """By key, the last of each; a line that was cut off while it was written is none."""
        if not self.measurements_path.exists():
            return {}
        found = {}
        for line in self.measurements_path.read_text().splitlines():
            try:
                measurement = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[measurement["key"]] = measurement
        return found

    def remaining(self, steps):
        """The steps that have not succeeded yet."""
        done = self.measurements()
        return [step for step in steps if "failed" in done.get(step.key, {"failed": "not yet"})]


def unfinished(parent, identity):
    """The newest run below `parent` with this identity and without a result, or None."""
    for path in sorted(pathlib.Path(parent).glob("*/plan.json"), reverse=True):
        journal = Journal(path.parent)
        try:
            if journal.identity() == identity and not journal.result_path.exists():
                return journal
        except json.JSONDecodeError:
            continue
    return None
