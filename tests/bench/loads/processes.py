# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the one that started them, however that ends."""
import contextlib
import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None, use_errno=True)


def _leave(number, _frame):
    raise SystemExit(128 + number)


def _end_with(parent):
    """In the new process, between fork and exec."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


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
    killed, the kernel kills those it started; what they started themselves lives for milliseconds.
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
        parent = os.getpid()
        with _no_signals():
            process = subprocess.Popen(
                [str(part) for part in command],
                start_new_session=True,
                preexec_fn=lambda: _end_with(parent),
                **options,
            )
            self._groups.append(process.pid)
        return process

    def __exit__(self, *_):
        with _no_signals():
            for group in self._groups:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
