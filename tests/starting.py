# SPDX-License-Identifier: Apache-2.0
"""Starts processes that end with the one that started them, however that ends, or earlier."""
import contextlib
import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _end_with(parent):
    """In the new process, between fork and exec."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def start(command, **options):
    """A subprocess.Popen in a session of its own: an interrupt at the terminal is not for it."""
    parent = os.getpid()
    return subprocess.Popen(
        [str(part) for part in command],
        start_new_session=True,
        preexec_fn=lambda: _end_with(parent),
        **options,
    )


@contextlib.contextmanager
def starter(start_process):
    """A function that does what `start_process` does; what it started is killed at the end."""
    with contextlib.ExitStack() as stack:

        def start_one(*arguments, **options):
            process = start_process(*arguments, **options)
            stack.callback(process.kill)
            return process

        yield start_one
