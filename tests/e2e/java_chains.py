# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that tests/targets/JavaChains.java had, method by method, by what the
JVM says of its chains.
"""
import collections
import dataclasses
import enum
import functools
import pathlib
import re
import socket

from true_chains import split_reason

MAIN = "JavaChains"
LINK = f"{MAIN}$Passing.pass"  # the method that may be of a class that is new
# Methods that are left at other lines when they tell of a chain than when they are on their way.
FLEXIBLE = {f"{MAIN}.{name}" for name in ("run", "runTurn", "runWay", "choose")}

# A line of a list of code: the number of its compilation, its level and state, its method, and where
# it is.
_CODE = re.compile(r"\s*\d+ +-?\d+ +-?\d+ +([^\s()]+)\(\S* \[(\w+),", re.ASCII)
# Up to glibc 2.33 threads begin in another of its libraries, and each has the version in its name.
_LIBC = re.compile(r"/libc\.so|/lib(?:c|pthread)-2\.\d+\.so")
# From here on what Java 8 says of hidden frames is no line but a bytecode.
HIDDEN_LINES = 1_000_000
# What differs between runs of names of classes that have no file: an address, or a number.
_HIDDEN = re.compile(r"(?<=\$\$Lambda)\$\d+|[/+](0x[0-9a-f]+|\d+)")

# What a frame is, where it is no method.
STUB = "(stub)"
LIBC = "(libc)"
FILE = "(file)"  # another one
NO_METHOD = {STUB, LIBC, FILE}
LATE = "[name not read in time]"  # that depends on what else the machine does


class Verdict(enum.Enum):
    TRUE = "true"  # as the JVM has it, down to the leaf
    UNNAMED = "unnamed"  # the same, but a name is missing, and its frame says why
    LATE = "named too late"
    TRANSIT = "on the way"  # the beginning of that
    WRONG = "wrong"
    CUT = "cut"


@dataclasses.dataclass(frozen=True)
class Method:
    """A method of a stack as the JVM tells it; `line` is below 1 where it has none."""

    name: str
    file: str
    line: int


def is_own(name):
    return name.startswith(MAIN)


def is_nameless(name):
    """Does it say why there is no name, or is none there?"""
    return not name or name.startswith("[")


def without_numbers(method):
    return _HIDDEN.sub("", method)


def read_method(text):
    """The Method that the program tells as CLASS.METHOD@FILE:LINE."""
    name, _, place = text.partition("@")
    file, _, line = place.rpartition(":")
    file = "" if file in ("null", "<Unknown>") else file
    return Method(without_numbers(name), file, int(line) if int(line) < HIDDEN_LINES else 0)


class CodeList:
    """The methods of its own that a JVM has compiled, by lists of its code at several times; `is_told`:
    there are such.
    """

    def __init__(self, *lists):
        self.is_told = all(lists)
        entries = [set(self._parse(text)) for text in lists]
        self.own = {name for _, name in entries[0] & entries[-1]}
        self._entries = set().union(*entries)

    @staticmethod
    def _parse(text):
        for line in text.splitlines():
            match = _CODE.match(line)
            if match and is_own(match[1]):
                yield match[2], without_numbers(match[1])

    def count(self, name):
        """Of places where code of this method was."""
        return sum(one == name for _, one in self._entries)


@dataclasses.dataclass(frozen=True)
class Judged:
    """A stack, with what it is and how it looks, from its root on; one that was cut begins with why
    it was. `strays`: frames of methods whose file or line is another one than the JVM tells.
    """

    verdict: Verdict
    shown: tuple
    strays: tuple = ()


def _user_part(frames):
    """`frames` without the kernel's: those of its image, its modules and BPF programs."""
    for at, frame in enumerate(frames):
        of_kernel = frame.file and "/" not in frame.file and "vdso" not in frame.file
        if not of_kernel and not (not frame.file and (frame.name or "").startswith("bpf_")):
            return frames[at:]
    return ()


def _place(frame):
    """The method that a frame is of, or what it is else."""
    if frame.file:
        return LIBC if _LIBC.search(frame.file) else FILE
    if is_nameless(frame.name):
        return frame.name or "[]"
    return without_numbers(frame.name) if "(" in (frame.system_name or "") else STUB


def _root_count(places):
    """How many frames all threads of Java begin with: libc, the JVM, its stub that calls Java. None
    of a stack that begins otherwise.
    """
    at = 2
    while places[at : at + 1] == (FILE,):
        at += 1
    is_proper = places[:2] == (LIBC, LIBC) and at > 2 and places[at : at + 1] == (STUB,)
    return at + 1 if is_proper else None


class JavaChain:
    """One way of the program. `methods`: the Methods of its stacks, the thread's first one first;
    `called`: how many methods its leaf may have called one in the other, or None.
    """

    def __init__(self, methods, called=None):
        self.methods = methods
        self._names = tuple(method.name for method in methods)
        self._called = called
        self._verdicts = {}

    def _judge_names(self, places):
        count = 0
        for place, name in zip(places, self._names):
            if place != name and not is_nameless(place):
                break
            count += 1
        called = [place for place in places[count:] if place not in NO_METHOD]
        if not count or any(map(is_own, called)):
            return Verdict.WRONG
        if any(map(is_nameless, places)):
            return Verdict.UNNAMED
        if count < len(self._names):
            return Verdict.TRANSIT
        return Verdict.WRONG if self._called is not None and len(called) > self._called else Verdict.TRUE

    def judge_names(self, places):
        """The Verdict on what frames are from the thread's first method on."""
        if places not in self._verdicts:
            self._verdicts[places] = self._judge_names(places)
        return self._verdicts[places]

    def _strays(self, frames):
        """Of frames that are those methods, the leaf's and what it goes through last excepted."""
        for frame, method in zip(frames, self.methods):
            if method.name in FLEXIBLE or method is self.methods[-1]:
                continue
            line = method.line if method.line > 0 else 0
            if (frame.source, frame.line) == (method.file, line):
                continue
            yield f"{frame.name} at {frame.source}:{frame.line}, not {method.file}:{line}"

    def _lacks_line(self, frames):
        """Of each frame that _strays() looks at: is its line not known?"""
        for frame, method in zip(frames, self.methods[:-1]):
            yield method.name not in FLEXIBLE and method.line > 0 and not frame.line

    def judge(self, frames):
        """A Judged of the frames of a sample."""
        frames, reason = split_reason(frames)
        frames = tuple(reversed(_user_part(frames)))
        shown = tuple(map(_place, frames))
        if reason:
            return Judged(Verdict.CUT, (reason, *shown))
        if LATE in shown:
            return Judged(Verdict.LATE, shown)
        root = _root_count(shown)
        if root is None:
            return Judged(Verdict.WRONG, shown)
        verdict = self.judge_names(shown[root:])
        if verdict is not Verdict.TRUE:
            return Judged(verdict, shown)
        # A line that is not known is no other line: it is missing, as a name may be.
        if any(self._lacks_line(frames[root:])):
            return Judged(Verdict.UNNAMED, shown)
        return Judged(verdict, shown, tuple(self._strays(frames[root:])))


def _listener(pid):
    return pathlib.Path(f"/tmp/.java_pid{pid}")


def remove_listener(pid):
    """What a JVM that has been killed leaves behind of it."""
    _listener(pid).unlink(missing_ok=True)


def read_code_list(pid):
    """What a JVM with an attach listener says as `jcmd PID Compiler.codelist`; "" from Java 8, which has
    no such command.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(300)
        connection.connect(str(_listener(pid)))
        connection.sendall(b"1\0jcmd\0Compiler.codelist\0\0\0")
        answer = b"".join(iter(functools.partial(connection.recv, 4096), b""))
    result, _, text = answer.decode().partition("\n")
    assert result == "0" or "Unknown diagnostic command" in text, answer
    return text if result == "0" else ""
