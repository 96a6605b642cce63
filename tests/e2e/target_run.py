# SPDX-License-Identifier: Apache-2.0
"""A running program to be profiled."""
import os
import pathlib
import subprocess

from waiting import wait_until


def computing_shell(then):
    """A script for a shell that computes until it gets SIGTERM, and then does `then`."""
    return f"trap '{then}' TERM; i=0; while :; do i=$((i+1)); done"


class Target:
    """A process started from `command`; kill() ends it whatever state it is in."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(part) for part in command], **options)

    @property
    def pid(self):
        return self.process.pid

    def cpu_ms(self):
        """CPU time it has used, in user and kernel mode."""
        stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        ticks = sum(map(int, stat.rpartition(")")[2].split()[11:13]))
        return ticks * 1000 // os.sysconf("SC_CLK_TCK")

    def wait_burnt(self, milliseconds):
        """Until it has used so much CPU time more."""
        goal = self.cpu_ms() + milliseconds
        wait_until(lambda: self.cpu_ms() >= goal, f"{milliseconds} ms of CPU time for a target")
        return self

    def wait_exit(self):
        wait_until(lambda: self.process.poll() is not None, "end of a target")
        return self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
