# SPDX-License-Identifier: Apache-2.0
"""A running program to be profiled."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

from waiting import BOUND_S, wait_until


def computing_shell(then):
    """A script for a shell that computes until it gets SIGTERM, and then does `then`."""
    return f"trap '{then}' TERM; i=0; while :; do i=$((i+1)); done"


def cpu_ms(pid, of_children=False):
    """CPU time that the process has used, in user and kernel mode; with that of the children that
    it has waited for.
    """
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    ticks = map(int, stat.rpartition(")")[2].split()[11 : 15 if of_children else 13])
    return sum(ticks) * 1000 // os.sysconf("SC_CLK_TCK")


def children(pid):
    """Numbers of the children that its first thread has started."""
    return [int(n) for n in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_executed(pid, path):
    """Until the process has come to the program at `path`."""

    def is_there():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return os.readlink(f"/proc/{pid}/exe") == str(path)

    wait_until(is_there, f"{path} to be executed")


def as_user(uid, *command):
    """`command` as user number `uid` runs it."""
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command)


class Target:
    """A process started from `command`; kill() ends it whatever state it is in."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(part) for part in command], **options)

    @property
    def pid(self):
        return self.process.pid

    def cpu_ms(self):
        """CPU time it has used, in user and kernel mode."""
        return cpu_ms(self.pid)

    def wait_burnt(self, milliseconds):
        """Until it has used so much CPU time more, however long that takes beside others."""
        goal = self.cpu_ms() + milliseconds
        while (burnt := self.cpu_ms()) < goal:
            wanted = min(goal, burnt + 100)  # it hangs when it gets less than that
            what = f"{wanted - burnt} of {milliseconds} ms of CPU time for a target"
            wait_until(lambda: self.cpu_ms() >= wanted, what)
        return self

    def wait_exit(self):
        """Its exit code, however long it takes beside others: it hangs when it gets no CPU time for
        as long as we wait, or when it has got that much.
        """

        def burnt():  # or None at its end
            return cpu_ms(self.pid, of_children=True) if self.process.poll() is None else None

        first = before = burnt()
        while before is not None:
            assert before <= first + 1000 * BOUND_S, "a target does not end"
            wait_until(lambda: burnt() != before, "end of a target, or some CPU time of it")
            before = burnt()
        return self.process.returncode

    @contextlib.contextmanager
    def paused(self):
        """It does nothing meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def start_beacon(start_target):
    """A program that has some samples a second, so that there is a file each second when all others are
    stopped.
    """
    code = "import time\nwhile True: time.sleep(0.1), sum(range(50000))"
    return start_target(sys.executable, "-c", code)
