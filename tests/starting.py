# SPDX-License-Identifier: Apache-2.0
"""Starts processes that end with the one that started them, however that ends."""
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
