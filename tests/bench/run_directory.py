# SPDX-License-Identifier: Apache-2.0
"""The directory of a run whose measurements are made at one go, and what lies in it in the end."""
import datetime
import json
import subprocess

import children
import machine
from profilers import SOURCE, NotAvailable

# What one measurement can come to without ending the run. A child's answer may be none of JSON's.
FAILURES = (
    children.ChildFailed,
    NotAvailable,
    subprocess.SubprocessError,
    OSError,
    KeyError,
    ValueError,
)


def attempt(measure, *arguments):
    """A measurement, or why there is none."""
    try:
        return measure(*arguments)
    except FAILURES as failure:
        return {"failed": str(failure) or type(failure).__name__}


class RunDirectory:
    """A new one: at `path`, or where those of this `kind` are."""

    def __init__(self, path, kind):
        name = f"{kind}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
        self.path = (path or SOURCE / "build/bench" / name).resolve()
        if self.path.exists():
            raise ValueError(f"{self.path} exists; give another --out")
        self.path.mkdir(parents=True)
        self._commit = machine.commit()

    def note(self, measurement):
        """Keep it, whatever becomes of the run."""
        with (self.path / "measurements.jsonl").open("a") as file:
            file.write(json.dumps(measurement) + "\n")

    def finish(self, settings, versions, measurements, tables):
        """Write result.json and what `tables` makes of it; print that. True when nothing failed."""
        result = {
            "identity": {"commit": self._commit} | settings,
            "machine": machine.describe(versions),
            "measurements": measurements,
            "finished": datetime.datetime.now().strftime("%Y-%m-%d"),
        }
        (self.path / "result.json").write_text(json.dumps(result, indent=1) + "\n")
        text = tables(result)
        (self.path / "table.md").write_text(text)
        print(f"\n{text}\n{self.path}: table.md, result.json")
        return not any("failed" in each for each in measurements)
