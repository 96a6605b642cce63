# SPDX-License-Identifier: Apache-2.0
"""A thread that gets no CPU for a while, as on a machine that is busy with much else."""
import contextlib
import ctypes
import os
import pathlib
import time

from waiting import wait_until

_SEIZE, _INTERRUPT, _CONT, _DETACH = 0x4206, 0x4207, 7, 17  # linux/ptrace.h
_WALL = 0x40000000  # waitpid: threads too
_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _request(number, tid):
    if _ptrace(number, tid, None, None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class HeldThread:
    """The thread of process `pid` that is called `name`. It must outlive this."""

    def __init__(self, pid, name):
        def named():
            """A thread names itself, once it has a CPU."""
            found = []
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):  # it ended
                    if (task / "comm").read_text().strip() == name:
                        found.append(int(task.name))
            return found

        (self._tid,) = wait_until(named, f"a thread {name}")
        _request(_SEIZE, self._tid)

    def hold(self, seconds):
        _request(_INTERRUPT, self._tid)
        os.waitpid(self._tid, _WALL)
        time.sleep(seconds)
        _request(_CONT, self._tid)

    def let_go(self):
        _request(_INTERRUPT, self._tid)
        os.waitpid(self._tid, _WALL)
        _request(_DETACH, self._tid)
