# SPDX-License-Identifier: Apache-2.0
"""A load for the time of a measurement (loads/run.py)."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import children

_RUN = pathlib.Path(__file__).resolve().parent / "loads/run.py"
_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))


def command(name, *options):
    """What runs the load, of which load_run.prepare() has built the programs."""
    return [sys.executable, _RUN, name, "--cache", _CACHE / "profcol/loads", *options]


def prepare(name):
    """Build what the load runs; quick when that has been done before."""
    children.output(command(name, "--prepare"))


class Load:
    """A load that runs at full speed."""

    def __init__(self, process):
        self._process = process

    def finish(self, bound_s):
        """Wait for its end. What it did: units of work, checksums, programs."""
        line = children.read_line(self._process, "account of its work", bound_s)
        status = self._process.wait(bound_s)
        if status:
            raise children.ChildFailed(f"the load ended with {status}")
        return json.loads(line)


@contextlib.contextmanager
def running(name, seconds):
    """The load for the time of a `with` statement; it ends by itself after `seconds`."""
    program = command(name, "--seconds", seconds)
    with children.running(program, stdout=subprocess.PIPE, text=True) as process:
        line = children.read_line(process, "word that it runs", 120)
        if line != "ready\n":
            raise children.ChildFailed(f"the load {name} said {line!r} instead of 'ready'")
        yield Load(process)
