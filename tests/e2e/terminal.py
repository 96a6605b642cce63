# SPDX-License-Identifier: Apache-2.0
"""A program at a terminal of its own, as somebody sits before it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from waiting import BOUND_S

_CLEAR = "\033[K"
CTRL_C = b"\x03"


def _sit_down():
    """Of the new process: Ctrl-C is for it, and so is a hang-up, also where the tests ignore that."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Terminal:
    """A run of `command`; kill() ends it, and all that it has started and is still its own."""

    def __init__(self, command, directory=None):
        self._screen, theirs = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=directory,
            start_new_session=True,
            preexec_fn=_sit_down,
        )
        os.close(theirs)

    @property
    def pid(self):
        return self.process.pid

    def _read(self, bound_s):
        """What comes next is in `text`; False at the end."""
        ready, _, _ = select.select([self._screen], [], [], bound_s)
        assert ready, f"nothing more within {bound_s} s:\n{self.text}"
        try:
            chunk = os.read(self._screen, 65536)
        except OSError:  # what a terminal says at its end
            chunk = b""
        self.text += chunk.decode(errors="replace")
        return bool(chunk)

    def wait_shown(self, is_shown, bound_s=2 * BOUND_S):
        """Until is_shown(self) is true of what it has written."""
        end = time.monotonic() + bound_s
        while not (result := is_shown(self)):
            left = end - time.monotonic()
            assert left > 0, f"not shown within {bound_s} s:\n{self.text}"
            assert self._read(left), f"it ended early:\n{self.text}"
        return result

    def wait_exit(self, bound_s=2 * BOUND_S):
        """Its exit code, once all that it wrote is in `text`."""
        end = time.monotonic() + bound_s
        while self._read(max(0, end - time.monotonic())):
            pass
        return self.process.wait(max(1, end - time.monotonic()))

    def resize(self, rows, columns):
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self._screen, keys)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._screen)

    @property
    def lines(self):
        """What stands on the screen, and above it: each line as it was left."""
        return [_as_left(line) for line in self.text.replace("\r\n", "\n").split("\n")]

    def shown(self, pattern):
        """Every match, of whatever was shown at any time."""
        return [match for part in re.split(r"[\r\n]", self.text) for match in re.finditer(pattern, part)]


def _as_left(line):
    """`line` after the returns to its begin and the clearing of what followed."""
    cells = ""
    for part in line.split("\r"):
        at = 0
        for piece in re.split(f"({re.escape(_CLEAR)})", part):
            if piece == _CLEAR:
                cells = cells[:at]
                continue
            cells = cells[:at] + piece + cells[at + len(piece) :]
            at += len(piece)
    return cells
