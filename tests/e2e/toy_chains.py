# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that a program of the toy interpreter had (tests/targets/toy), by
what the program tells of itself."""
import collections
import dataclasses
import re

from true_chains import DEPTH_REASON, FRAME_LIMIT, Verdict, split_reason

ROOT = "run_once"
# In place of a name that could not be known: of a function that has ended, and where the profiler
# had no time in between.
_UNREAD = {"[name gone before it was read]": "gone", "[name not read in time]": "late"}
FRESH = "frisch@frisch.toy:1"  # in chains, of all functions that are made anew
_FRESH = re.compile(r"frisch_(\d+)@frisch\.toy:(\d+)")
# What the interpreter and its functions of C call now and then, by stubs that have no name; and all
# of libraries.
_OWN_HELPERS = r"toy_(record|code_\w+|shadow_\w+)|hash_of|tell|set_\w+|<unknown>"
_HELPERS = re.compile(rf"{_OWN_HELPERS}|libc\.so\.6|\[vdso\]")


def without_kernel(frames):
    """`frames` from the first one on that is not the kernel's."""
    for at, frame in enumerate(frames):
        of_kernel = frame.file and "/" not in frame.file and "vdso" not in frame.file
        of_bpf = not frame.file and (frame.name or "").startswith("bpf_")
        if not of_kernel and not of_bpf:
            return frames[at:]
    return ()


def _function(place):
    """`place` without its line."""
    return place.rpartition(":")[0] or place


@dataclasses.dataclass(frozen=True)
class Judged:
    """A stack, with what it is and how it looks."""

    verdict: Verdict
    chain: tuple = ()  # root first; of a true one the whole chain that it is of
    behind: tuple = ()  # places that called its root, leaf first
    shown: tuple = ()  # all places, leaf first, and the mark of one that was cut
    names: collections.Counter = dataclasses.field(default_factory=collections.Counter)


class ToyChains:
    """What a toy program may be seen to do: it is the file at `path`, and tells its chains to the
    file `told`."""

    def __init__(self, path, told):
        self._path, self._told = str(path), told
        self.chains = set()
        self._bytes = 0

    def learn(self):
        """What it has told by now."""
        text = self._told.read_bytes() if self._told.exists() else b""
        if len(text) == self._bytes:
            return
        self._bytes = len(text)
        lines = text.decode().splitlines()
        self.chains = {tuple(line.split("|")) for line in lines}
        self._functions = {_function(place) for chain in self.chains for place in chain}

    def _place(self, frame, comm, names):
        if frame.file == self._path:
            return frame.name or "<unknown>"
        if frame.file:
            return "[vdso]" if "vdso" in frame.file else frame.file.rpartition("/")[2]
        if frame.is_made:
            return "<anonymous>"
        place = f"{frame.name}@{frame.source}:{frame.line}"
        number = comm.removeprefix("frisch_")
        if frame.name in _UNREAD and number != comm:
            names[_UNREAD[frame.name]] += 1
            return FRESH
        # The thread is called like the only one that is there.
        if (made := _FRESH.fullmatch(place)) and made[1] == number:
            first = 10 * int(number)
            if (int(made[2]), frame.start_line) == (first + 1, first):
                names["fresh"] += 1
                return FRESH
        names["named"] += not frame.name.startswith("[")
        return place

    def _without_helpers(self, places):
        at = 0
        while at < len(places) and _HELPERS.fullmatch(places[at]):
            at += 1
        return places[at:]

    @staticmethod
    def _is_part(chain, part, at):
        """Is `part` there in `chain` from `at` on? Its leaf may be at any line."""
        *callers, leaf = part
        end = at + len(callers)
        return (
            end < len(chain)
            and chain[at:end] == tuple(callers)
            and _function(chain[end]) == _function(leaf)
        )

    def _judge_cut(self, places):
        """Of the leaf's end of a stack, leaf first."""
        text = tuple(reversed(places))
        for chain in self.chains:
            if chain[-len(text) :] == text:
                return Verdict.TRUE, chain
        text = tuple(reversed(self._without_helpers(places)))
        on_the_way = (
            self._is_part(chain, text, at)
            for chain in self.chains
            for at in range(len(chain) - len(text) + 1)
        )
        return Verdict.TRANSIT if any(on_the_way) else Verdict.WRONG, ()

    def _judge_whole(self, places):
        chain = tuple(reversed(places))
        if chain in self.chains:
            return Verdict.TRUE, chain
        chain = tuple(reversed(self._without_helpers(places)))
        on_the_way = any(self._is_part(whole, chain, 0) for whole in self.chains)
        return Verdict.TRANSIT if on_the_way else Verdict.WRONG, ()

    def judge(self, sample):
        """A Judged of it."""
        frames, reason = split_reason(without_kernel(sample.frames))
        comm, names = sample.labels.get("comm", ""), collections.Counter()
        places = [self._place(frame, comm, names) for frame in frames]
        shown = (*places, *((reason,) if reason else ()))
        if reason == DEPTH_REASON and len(places) == FRAME_LIMIT:
            root = places.index(ROOT) if ROOT in places else FRAME_LIMIT
            return Judged(*self._judge_cut(places[: root + 1]), (), shown, names)
        if ROOT in places and not reason:
            root = places.index(ROOT)
            verdict, chain = self._judge_whole(places[: root + 1])
            return Judged(verdict, chain, tuple(places[root + 1 :]), shown, names)
        elsewhere = not reason and not self._functions & set(map(_function, places))
        return Judged(Verdict.ELSEWHERE if elsewhere else Verdict.WRONG, (), (), shown, names)
