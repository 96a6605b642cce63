# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the one that started them, however that ends."""
import contextlib
import ctypes
import os
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from starting import start
from waiting import wait_until

_PR_SET_CHILD_SUBREAPER = 36
END_BOUND_S = 20
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None, use_errno=True)


def _leave(number, _frame):
    raise SystemExit(128 + number)


def _all_reaped():
    """Whether there is no child left, after those that have ended were waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


@contextlib.contextmanager
def _no_signals():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Processes:
    """Those started in a `with` statement; none of them nor of their children is left after it.

    Each has a session of its own, by which it is killed with its children. When this process is
    killed, the kernel kills those it started; what they started themselves ends by itself, within
    milliseconds or, a long compilation, some seconds.
    """

    def __init__(self):
        self._groups = []

    def __enter__(self):
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for number in _ENDING:
            signal.signal(number, _leave)
        return self

    def start(self, command, **options):
        """A subprocess.Popen."""
        with _no_signals():
            process = start(command, **options)
            self._groups.append(process.pid)
        return process

    def __exit__(self, *_):
        with _no_signals():
            for group in self._groups:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
            # Bounded: one that left its session was not killed, and may never end.
            wait_until(_all_reaped, "end of what the load started", END_BOUND_S)
