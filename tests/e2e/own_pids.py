# SPDX-License-Identifier: Apache-2.0
"""A PID namespace of a test's own: the profiler in it knows the processes of that test alone, and
none of those that other tests and the rest of the machine start meanwhile.
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess

from waiting import wait_until

_CLONE_NEWPID = 0x20000000
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class OwnPids:
    """The namespace; end() ends all that runs in it."""

    def __init__(self):
        # Only what is started afterwards is in it, and the first of that is its init. It ignores
        # SIGCHLD, so that none of those whose parents have ended stays as a zombie.
        _check(_libc.unshare(_CLONE_NEWPID))
        try:
            self._init = subprocess.Popen(
                ["unshare", "--mount-proc", "sleep", "infinity"],
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
            )
        finally:
            self._set("self")
        comm = pathlib.Path(f"/proc/{self._init.pid}/comm")
        wait_until(lambda: comm.read_text() == "sleep\n", "a PID namespace")
        # Its files of /proc are seen in its mount namespace.
        self.prefix = ["nsenter", f"--mount=/proc/{self._init.pid}/ns/mnt"]

    @staticmethod
    def _set(process):
        """What this thread starts from now on is in the namespace of `process`."""
        with open(f"/proc/{process}/ns/pid") as namespace:
            _check(_libc.setns(namespace.fileno(), _CLONE_NEWPID))

    def within(self, start):
        """The function `start`, by which processes are started, for processes in the namespace."""

        def start_within(*arguments, **options):
            self._set(self._init.pid)
            try:
                return start(*arguments, **options)
            finally:
                self._set("self")

        return start_within

    def end(self):
        """The kernel kills all that is in it with its init."""
        self._init.kill()
        # It ends when they have been waited for, which is for those who have started them; then
        # subprocess takes notice of it.
        self._init.poll()


def number_of(pid):
    """The number that the process has in the innermost of its namespaces."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    (numbers,) = (line.split()[1:] for line in lines if line.startswith("NSpid:"))
    return int(numbers[-1])


@contextlib.contextmanager
def own_pids():
    """An OwnPids, ended at the end."""
    namespace = OwnPids()
    try:
        yield namespace
    finally:
        namespace.end()
