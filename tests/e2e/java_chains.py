# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that tests/targets/JavaChains.java had, by what the JVM says of
its chains and of its code.
"""
import bisect
import dataclasses
import enum
import functools
import pathlib
import re
import socket

from true_chains import split_reason, user_part

MAIN = "JavaChains"
LINK = f"{MAIN}$Passing.pass"  # the method that may be of a class that is new

# What a name in a map of code says of a method: what it returns, its class and name, its arguments.
_METHOD = re.compile(r"\S+ ([^\s()]+)\(")
# Up to glibc 2.33 threads begin in another of its libraries, and each has the version in its name.
_LIBC = re.compile(r"/libc\.so|/lib(?:c|pthread)-2\.\d+\.so")
# Such classes have numbers in their names.
_LAMBDA = re.compile(r"\$\$Lambda[^.]*")

# What a frame is, where it is none of the program's own methods.
INTERPRETED = "(interpreted)"
OTHER_METHOD = "(other method)"  # of the JDK
STUB = "(stub)"
UNKNOWN = "(unknown)"
LIBC = "(libc)"
FILE = "(file)"  # another one

_NEAR = 8  # entries of a map that may reach as far as an address: those of different times overlap


class Verdict(enum.Enum):
    TRUE = "true"  # as the JVM has it, down to the leaf
    TRANSIT = "on the way"  # the beginning of that
    WRONG = "wrong"
    CUT = "cut"


def is_own(name):
    return name.startswith(MAIN)


def without_numbers(method):
    return _LAMBDA.sub("$$Lambda", method)


def _kind(text):
    if text == "Interpreter":
        return INTERPRETED
    match = _METHOD.match(text)
    if not match:
        return STUB
    return without_numbers(match[1]) if is_own(match[1]) else OTHER_METHOD


def _parse_map(text):
    """{(first address, end, name)}"""
    for line in text.splitlines():
        start, size, name = line.split(" ", 2)
        yield int(start, 16), int(start, 16) + int(size, 16), name


class CodeMap:
    """What lies where in a JVM's code cache, by two maps of it. If it `is_changing`, what is in one
    of them may have been something else for most of the time.
    """

    def __init__(self, first, last, is_changing):
        first, last = set(_parse_map(first)), set(_parse_map(last))
        self._lasting = first & last
        self._entries = sorted(first | last)
        self._is_changing = is_changing
        self._kinds = {}
        self.own = {kind for *_, name in self._lasting if is_own(kind := _kind(name))}

    def _entries_at(self, address):
        at = bisect.bisect_right(self._entries, (address, 1 << 64, ""))
        return [one for one in self._entries[max(at - _NEAR, 0) : at] if address < one[1]]

    def _kinds_at(self, address):
        for entry in self._entries_at(address):
            yield _kind(entry[2])
            if self._is_changing and entry not in self._lasting:
                yield UNKNOWN

    def kinds_at(self, address):
        """What may be there: names of the program's own methods, of which there is one but for a
        code that changes, or what else it is.
        """
        if address not in self._kinds:
            self._kinds[address] = frozenset(self._kinds_at(address)) or frozenset({UNKNOWN})
        return self._kinds[address]

    def place(self, address):
        """As text, with how far in its code that is."""
        entries = self._entries_at(address)
        return " or ".join(f"{name}+{address - start:#x}" for start, _, name in entries) or UNKNOWN


@dataclasses.dataclass(frozen=True)
class Judged:
    """A stack, with what it is and how it looks, from its root on; one that was cut begins with why
    it was.
    """

    verdict: Verdict
    shown: tuple


def _behind_beginning(frames):
    """Those behind what all threads of Java begin with: libc, the JVM, its stub that calls Java.
    None of a stack that begins otherwise.
    """
    at = 2
    while frames[at : at + 1] == ({FILE},):
        at += 1
    is_proper = frames[:2] == ({LIBC}, {LIBC}) and at > 2 and frames[at : at + 1] == ({STUB},)
    return frames[at + 1 :] if is_proper else None


class JavaChain:
    """One way of the program. `methods`: those of its stacks, the thread's first one first; `code`:
    a CodeMap. Whether it `is_interpreted` as a whole, and then how many methods its leaf may have
    `called`.
    """

    def __init__(self, methods, code, is_interpreted, called=0, is_changing=False):
        self.methods = methods
        self._code = code
        self._is_interpreted = is_interpreted
        self._called = called
        self._is_changing = is_changing
        self._verdicts = {}

    def _is_optional(self, method):
        """Compilers make the JDK's methods parts of those that call them."""
        return not self._is_interpreted and not is_own(method)

    def _may_be(self, frame, method):
        """Is `frame`, of which that is known, one of `method`?"""
        if INTERPRETED in frame:
            return True
        if (method if is_own(method) else OTHER_METHOD) in frame:
            return True
        is_new = method == LINK or method not in self._code.own
        return self._is_changing and UNKNOWN in frame and is_new

    def _may_be_called(self, frames):
        """By the last method of the chain that is there."""
        methods = sum(not frame & {STUB, LIBC, FILE} for frame in frames)
        if self._is_interpreted and methods > self._called:
            return False
        allowed = {INTERPRETED, OTHER_METHOD, STUB, LIBC, FILE}
        allowed |= {UNKNOWN} if self._is_changing else set()
        return all(frame & allowed for frame in frames)

    def _behind_optional(self, places):
        reached = set(places)
        for place in places:
            while place < len(self.methods) and self._is_optional(self.methods[place]):
                place += 1
                reached.add(place)
        return reached

    def _step(self, places, frame):
        """The places in the chain behind `frame`, if it is at one of `places`."""
        inside = (place for place in places if place < len(self.methods))
        return {place + 1 for place in inside if self._may_be(frame, self.methods[place])}

    def _judge_methods(self, frames):
        verdict = Verdict.WRONG
        places = {0}
        for at in range(1, len(frames) + 1):
            places = self._step(self._behind_optional(places), frames[at - 1])
            places = self._behind_optional(places)
            if places and self._may_be_called(frames[at:]):
                if len(self.methods) in places:
                    return Verdict.TRUE
                verdict = Verdict.TRANSIT
        return verdict

    def judge_methods(self, frames):
        """The Verdict on frames from the thread's first method on: of each, what it may be."""
        if frames not in self._verdicts:
            self._verdicts[frames] = self._judge_methods(frames)
        return self._verdicts[frames]

    def _place(self, frame):
        if frame.file:
            return frozenset({LIBC if _LIBC.search(frame.file) else FILE})
        return self._code.kinds_at(frame.address)

    def judge(self, frames):
        """A Judged of the frames of a sample."""
        frames, reason = split_reason(frames)
        places = tuple(self._place(frame) for frame in reversed(user_part(frames)))
        shown = tuple("|".join(sorted(place)) for place in places)
        if reason:
            return Judged(Verdict.CUT, (reason, *shown))
        methods = _behind_beginning(places)
        verdict = Verdict.WRONG if methods is None else self.judge_methods(methods)
        return Judged(verdict, shown)


def _listener(pid):
    return pathlib.Path(f"/tmp/.java_pid{pid}")


def remove_listener(pid):
    """What a JVM that has been killed leaves behind of it."""
    _listener(pid).unlink(missing_ok=True)


def read_code_map(pid):
    """What a JVM with an attach listener says as `jcmd PID Compiler.perfmap`; nothing of that stays
    behind.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(300)
        connection.connect(str(_listener(pid)))
        connection.sendall(b"1\0jcmd\0Compiler.perfmap\0\0\0")
        answer = b"".join(iter(functools.partial(connection.recv, 4096), b""))
    assert answer.startswith(b"0\n"), answer
    path = pathlib.Path(f"/tmp/perf-{pid}.map")
    try:
        return path.read_text()
    finally:
        path.unlink()
