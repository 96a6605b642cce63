# SPDX-License-Identifier: Apache-2.0
"""A directory of built files, each built again when what it is made of has changed."""
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys


class BuildError(Exception):
    pass


@functools.lru_cache(maxsize=None)
def tool_version(tool):
    """The first line that a program says about its version."""
    argument = "version" if tool == "go" else "--version"
    result = subprocess.run([tool, argument], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()[0].strip()


@dataclasses.dataclass(frozen=True)
class Step:
    """A command that writes `output`, or prints it when `printed`.

    The version of `tool` matters; without one, that of the command.
    """

    output: pathlib.Path
    command: tuple
    inputs: tuple = ()
    printed: bool = False
    tool: str = None
    directory: pathlib.Path = None
    environment: tuple = ()

    @property
    def stamp(self):
        """What changes when the output would."""
        parts = [str(part) for part in self.command]
        version = tool_version(self.tool or self.command[0])
        digest = hashlib.sha256(json.dumps([parts, version]).encode())
        for path in self.inputs:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    @property
    def stamp_path(self):
        return self.output.with_name(self.output.name + ".stamp")

    def is_done(self):
        try:
            return self.output.exists() and self.stamp_path.read_text() == self.stamp
        except FileNotFoundError:
            return False


class Cache:
    def __init__(self, directory, processes):
        self.directory = pathlib.Path(directory).resolve()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._processes = processes
        self._lock = (self.directory / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"loads: waiting for another run that fills {directory}", file=sys.stderr)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def unlock(self):
        """Others may build now; what is built is only read."""
        self._lock.close()

    def build(self, *steps):
        """Do steps that do not need each other; return the paths of their outputs."""
        stale = [step for step in steps if not step.is_done()]
        width = os.cpu_count()
        for first in range(0, len(stale), width):
            running = [(step, self._start(step)) for step in stale[first : first + width]]
            for step, process in running:
                self._finish(step, process)
        return [step.output for step in steps]

    def _start(self, step):
        step.stamp_path.unlink(missing_ok=True)
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(step.output.open("wb")) if step.printed else sys.stderr
            return self._processes.start(
                step.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                cwd=step.directory,
                env={**os.environ, **dict(step.environment)},
            )

    @staticmethod
    def _finish(step, process):
        if process.wait():
            command = " ".join(map(str, step.command))
            raise BuildError(f"no {step.output.name}: '{command}' ended with {process.returncode}")
        step.stamp_path.write_text(step.stamp)
