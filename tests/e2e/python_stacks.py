# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that tests/targets/python_chains.py had: the same Python functions,
files and lines, native frames between them where C called, and none where it did not.
"""
import collections
import dataclasses
import enum
import json
import re

INTERPRETER_LOOP = "_PyEval_EvalFrameDefault"
# Of the libraries that the ways of these names go through.
_LIBRARIES = {"c_ctypes": re.compile("ffi|ctypes"), "c_sqlite": re.compile("sqlite")}


class Verdict(enum.Enum):
    TRUE = "true"
    TRANSIT = "on the way"  # its leaf is about to compute, or has done so
    CUT = "cut"
    UNNAMED = "unnamed"  # whole, but some name did not come
    WRONG = "wrong"


def _is_python(frame):
    """A function, or what stands for a task."""
    return not frame.file and (bool(frame.source) or (frame.name or "").startswith("<"))


def _is_unnamed(frame):
    return not frame.file and not frame.source and (frame.name or "").startswith("[")


@dataclasses.dataclass(frozen=True)
class Chain:
    """`frames`: (name, file, line, first line) of each, leaf first."""

    way: str
    frames: tuple

    def short(self):
        return " < ".join(f"{name}:{line}" for name, _, line, _ in self.frames[:8])


class Told:
    """What a program has told in the file at `path` so far."""

    def __init__(self, path):
        self.chains = {}  # by (pid, number)
        self.failed, self.missing = {}, {}
        self.is_ready = False
        for line in path.read_text(errors="replace").splitlines(True):
            if line.endswith("\n"):
                self._take(json.loads(line))

    def _take(self, what):
        if "number" in what:
            frames = tuple(tuple(frame) for frame in what["chain"])
            self.chains[what["pid"], what["number"]] = Chain(what["way"], frames)
        elif "failed" in what:
            self.failed[what["failed"]] = what["why"]
        elif "missing" in what:
            self.missing[what["missing"]] = what["why"]
        else:
            self.is_ready = True

    @property
    def pids(self):
        return {pid for pid, _ in self.chains}


def _split(frames):
    """The Python frames, and between each of them and its callee the native ones."""
    python, natives = [], [[]]
    for frame in frames:
        if _is_python(frame):
            line, first = frame.line or 0, frame.start_line or 0
            python.append((frame.name, frame.source or "", line, first))
            natives.append([])
        else:
            natives[-1].append(frame)
    return python, natives


def _has_boundaries(chain, natives, has_direct_calls):
    """Are there native frames between its frames where there were some, and only there?"""
    for at, (name, *_) in enumerate(chain.frames[1:], 1):
        name = name.rpartition(".")[2]
        between = natives[at]
        if name.startswith("d_") and has_direct_calls and between:
            return False
        if name.startswith("c_") and not between:
            return False
        library = _LIBRARIES.get(name)
        if library and not any(library.search(frame.file or "") for frame in between):
            return False
    return True


def judge(chain, sample, has_direct_calls):
    """The Verdict on a sample that was taken while `chain` was there; whether its interpreter runs
    functions that Python functions call without a native call."""
    frames = sample.frames
    if sample.mark:
        return Verdict.CUT
    if any(map(_is_unnamed, frames)):
        return Verdict.UNNAMED
    if any((frame.name or "").startswith(INTERPRETER_LOOP) for frame in frames):
        return Verdict.WRONG
    python, natives = _split(frames)
    if tuple(python) == chain.frames:
        return Verdict.TRUE if _has_boundaries(chain, natives, has_direct_calls) else Verdict.WRONG
    # What the leaf calls before and after, and its other lines.
    callers = len(chain.frames) - 1
    own = python[: len(python) - callers]
    if tuple(python[len(python) - callers :]) == chain.frames[1:] and own:
        leaf, of_chain = own[-1], chain.frames[0]
        if (leaf[0], leaf[1], leaf[3]) == (of_chain[0], of_chain[1], of_chain[3]):
            return Verdict.TRANSIT
    return Verdict.WRONG


def text_of(sample):
    """Its frames, leaf first."""
    shown = []
    for frame in sample.frames:
        if _is_python(frame):
            shown.append(f"{frame.name}:{frame.line}")
        else:
            file = (frame.file or "").rpartition("/")[2]
            shown.append(f"<{file}!{frame.name or hex(frame.address)}>")
    return " ".join(shown)


class Observed:
    """What was sampled of a program while it had the chains that it has `told`."""

    def __init__(self, told, samples, has_direct_calls):
        self.told = told
        self.verdicts = collections.defaultdict(collections.Counter)  # by way
        self.seen = collections.Counter()  # samples of each chain that are true
        self.shown = collections.defaultdict(collections.Counter)
        for sample in samples:
            before, _, number = sample.labels.get("comm", "").partition("in_")
            key = sample.labels.get("pid"), int(number) if number.isdigit() else None
            if before or key not in told.chains:
                continue
            chain = told.chains[key]
            verdict = judge(chain, sample, has_direct_calls)
            self.verdicts[chain.way][verdict] += sample.count
            if verdict is Verdict.TRUE:
                self.seen[chain] += sample.count
            else:
                self.shown[verdict][chain, text_of(sample), sample.mark] += sample.count

    def count(self, *verdicts, without=()):
        """Samples with one of these verdicts (all without any)."""
        return sum(
            number
            for way, counts in self.verdicts.items()
            if way not in without
            for verdict, number in counts.items()
            if not verdicts or verdict in verdicts
        )

    def print(self, most=8):
        for way, counts in self.verdicts.items():
            print(f"{way}: " + ", ".join(f"{counts[one]} {one.value}" for one in Verdict))
        for verdict in (Verdict.CUT, Verdict.UNNAMED, Verdict.WRONG):
            for (chain, text, mark), count in self.shown[verdict].most_common(most):
                print(f"{verdict.value}, {count} of {chain.way} {chain.short()}: {mark}\n    {text}")
