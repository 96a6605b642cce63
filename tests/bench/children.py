# SPDX-License-Identifier: Apache-2.0
"""Processes that end with us, however we end."""
import contextlib
import os
import pathlib
import select
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from starting import start
from waiting import wait_until

__all__ = [
    "ChildFailed",
    "end_on_signals",
    "output",
    "read_line",
    "running",
    "start",
    "stop",
    "wait_until",
]


def end_on_signals():
    """As an interrupt does, let the `with` statements end what was started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


class ChildFailed(Exception):
    """A child did not do what it is for; the text says what it printed."""


def stop(process, number=signal.SIGTERM, bound_s=15):
    """Ask it to end, wait, and kill what is left of its session. Returns its exit code."""
    if process.poll() is None:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(bound_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


@contextlib.contextmanager
def running(command, **options):
    """A process for the time of a `with` statement."""
    process = start(command, **options)
    try:
        yield process
    finally:
        stop(process)


def output(command, bound_s=600):
    """What it prints, once it has ended well."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(command, text=True, errors="replace", **pipes) as process:
        out, error = process.communicate(timeout=bound_s)
    if process.returncode:
        raise ChildFailed(f"{command[0]} ended with {process.returncode}: {error.strip()}")
    return out


def read_line(process, what, bound_s=60):
    """The next line it prints; it prints one at a time."""
    ready, _, _ = select.select([process.stdout], [], [], bound_s)
    line = process.stdout.readline() if ready else ""
    if not line:
        state = "it has ended" if ready else f"it was silent for {bound_s} s"
        raise ChildFailed(f"no {what} from {' '.join(map(str, process.args[:3]))}: {state}")
    return line
