# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that tests/targets/v8_chains.js had: the same functions and lines
of its source, no frame of V8's interpreter, and nothing cut.
"""
import collections
import dataclasses
import enum
import json
import re

# What interprets, and so never shows.
_INTERPRETER = re.compile(r"Builtins_(InterpreterEntryTrampoline|.*(?<!IC_)Handler$)")


class Verdict(enum.Enum):
    TRUE = "true"
    TRANSIT = "on the way"  # the chain begins or ends
    LINE = "line"  # its functions, but another line
    CUT = "cut"
    UNNAMED = "unnamed"  # whole, but some name did not come
    WRONG = "wrong"


@dataclasses.dataclass(frozen=True)
class Chain:
    """`frames`: (name, first line, last line) of each, leaf first."""

    way: str
    frames: tuple


def told_lines(path):
    """Each whole line that a program has told in the file at `path`, decoded."""
    for line in path.read_text(errors="replace").splitlines(True):
        if line.endswith("\n"):
            yield json.loads(line)


def told(path):
    """By number, the chains that the program has told in the file at `path`; whether it is ready."""
    chains, is_ready = {}, False
    for what in told_lines(path):
        if "number" in what:
            chains[what["number"]] = Chain(what["way"], tuple(map(tuple, what["chain"])))
        else:
            is_ready = True
    return chains, is_ready


def _is_unnamed(frame):
    name = frame.name or ""
    return frame.is_made or (not frame.file and not frame.source and name.startswith("["))


def _matches(frame, expected):
    name, first, last = expected
    return frame.name == name and first <= frame.line <= last


def judge(chain, sample, source):
    """The Verdict on a sample that was taken while `chain` was there, of the program in `source`."""
    if sample.mark:
        return Verdict.CUT
    if any(map(_is_unnamed, sample.frames)):
        return Verdict.UNNAMED
    if any(_INTERPRETER.match(frame.name or "") for frame in sample.frames):
        return Verdict.WRONG
    own = [frame for frame in sample.frames if frame.source == source]
    drives = [at for at, frame in enumerate(own) if frame.name == "drive"]
    if not drives:
        return Verdict.TRANSIT if all(frame.name == "loop" for frame in own) else Verdict.WRONG
    frames = own[: drives[0] + 1]
    names = [frame.name for frame in frames]
    expected = [name for name, *_ in chain.frames]
    if names == expected:
        is_true = all(map(_matches, frames, chain.frames))
        return Verdict.TRUE if is_true else Verdict.LINE
    # Its callers alone, one of which is about to call.
    if names == expected[len(expected) - len(names) :]:
        return Verdict.TRANSIT
    return Verdict.WRONG


def text_of(sample, source):
    """Its frames, leaf first."""
    shown = []
    for frame in sample.frames[:40]:
        if frame.source == source:
            shown.append(f"{frame.name}:{frame.line}")
        elif frame.source:
            shown.append(f"({frame.name} {frame.source}:{frame.line})")
        else:
            file = (frame.file or "").rpartition("/")[2]
            shown.append(f"<{file}!{frame.name or hex(frame.address)}>")
    return " ".join(shown)


class Observed:
    """What was sampled of a program while it had the chains that it has told."""

    def __init__(self, chains, samples, source):
        self.chains, self.source = chains, source
        self.verdicts = collections.defaultdict(collections.Counter)  # by way
        self.shown = collections.defaultdict(collections.Counter)
        for sample in samples:
            chain = self._chain_of(sample)
            if not chain:
                continue
            verdict = judge(chain, sample, source)
            self.verdicts[chain.way][verdict] += sample.count
            if verdict is not Verdict.TRUE:
                self.shown[verdict][chain, text_of(sample, source), sample.mark] += sample.count

    def _chain_of(self, sample):
        """The one that there was when it was taken; None while there was none."""
        before, _, number = sample.labels.get("comm", "").partition("in_")
        if not before and number.isdigit():
            return self.chains.get(int(number))
        # Old versions do not name the thread: the chain is the one that begins like that.
        names = [frame.name for frame in sample.frames if frame.source == self.source]
        if "drive" not in names:
            return None
        begins = names[max(names.index("drive") - 1, 0)]
        for chain in self.chains.values():
            if chain.frames[-2][0] == begins:
                return chain
        return None

    def count(self, *verdicts):
        """Samples with one of these verdicts (all without any)."""
        return sum(
            number
            for counts in self.verdicts.values()
            for verdict, number in counts.items()
            if not verdicts or verdict in verdicts
        )

    def print(self, most=6):
        for way, counts in self.verdicts.items():
            print(f"{way}: " + ", ".join(f"{counts[one]} {one.value}" for one in Verdict))
        for verdict in (Verdict.CUT, Verdict.UNNAMED, Verdict.LINE, Verdict.WRONG):
            for (chain, text, mark), count in self.shown[verdict].most_common(most):
                print(f"{verdict.value}, {count} of {chain.way}: {mark}\n    {text}")
