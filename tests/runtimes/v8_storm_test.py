# SPDX-License-Identifier: Apache-2.0
"""While V8 throws away what it has compiled, functions have their own names in the stacks of Node.js, or
none and the cause, and never another function's: not of code that was deoptimized in the middle of a
loop and compiled again, nor of functions whose bytecode was flushed, nor of those that are made of
text and dropped, nor where objects move all the time. The program itself notices nothing.

It tells which chains it has (tests/targets/v8_storm.js).
"""
import collections
import re
import signal

import pytest

from decided import Decision, Share, assert_rare
import v8_stacks
import v8_test
from v8_stacks import Verdict
from v8_test import observed
from waiting import wait_until

START_BOUND_S = 300
SETTLE_MS = 3000  # of CPU time: the program is met, its files are read
LEAST_SEEN = 20  # samples of each way that are true
LEAST_STORM = 50  # of each kind of loss that the program has

WRONG = Share(fine=0.0002, fault=0.002)
LINE = Share(fine=0.001, fault=0.005)
# While code is thrown away its frame is in the heap for a moment, longer since V8 traces it.
CUT = Share(fine=0.02, fault=0.05)
# Names that are missing say why. How many depends on what else the machine does.
UNNAMED = Share(fine=0.2, fault=0.4)
UNNAMED_MOVED = Share(fine=0.7, fault=0.9)

_TRACES = ("--trace-deopt", "--trace-osr", "--trace-flush-bytecode")
_OFTEN = ("--interrupt-budget=10000",)  # it compiles soon
_MOVES = "--stress-compaction"
_GC = ("--expose-gc",)
_FLUSH = (*_GC, "--flush-bytecode", "--stress-flush-code", "--flush-baseline-code")

# How the program is run, and which of the losses in its trace it has to have.
VARIANTS = {
    "usual": ((), ("bailout", "OSR")),
    "deoptimized": ((*_OFTEN, *_GC), ("bailout", "OSR")),
    "flushed": ((*_OFTEN, *_FLUSH), ("bailout", "OSR", "discarding")),
    "baseline": (("--always-sparkplug", "--no-opt", *_FLUSH), ("discarding",)),
    "moved": ((*_OFTEN, *_FLUSH, _MOVES), ("bailout", "OSR", "discarding")),
}

pytestmark = [pytest.mark.runtimes, pytest.mark.parametrize("name", list(VARIANTS))]

# What has no name; what stands for code that is no function's, or for a function that was not read.
_MISSING = re.compile(r"\[|\(V8 code\)$|Builtins_InterpreterEntryTrampoline$")
_OUTERMOST = "drive"


def _is_missing(frame):
    return bool(_MISSING.match(frame.name or "["))


def _is_part(names, expected):
    """Are these, in their order, some of the expected ones?"""
    left = iter(expected)
    return all(name in left for name in names)


def _is_within(line, first, last):
    return not line or first <= line <= last  # 0: it is not known


def _is_placed(frame):
    """Is it known which place of it runs? Else it is not known either what was inlined there."""
    return frame.line != frame.start_line


def _lacks_inlined(frames, own):
    """Is a function that is not of the chain shown right behind those that are, whose place is not
    known? `frames`: those of JavaScript, leaf first; `own`: names."""
    inside = [at for at, frame in enumerate(frames) if frame.name in own]
    behind = frames[inside[-1] + 1 : inside[-1] + 2] if inside else []
    return any(not _is_placed(frame) for frame in behind)


def judge(chain, sample):
    """The Verdict on a sample that was taken while `chain` was there."""
    own = {name for name, *_ in chain.frames}
    frames = [frame for frame in sample.frames if not frame.file or _is_missing(frame)]
    names = [frame.name or "[" for frame in frames]
    if _OUTERMOST in names:
        frames = frames[: names.index(_OUTERMOST) + 1]
    elif not sample.mark and not any(map(_is_missing, frames)):
        if not own & set(names):
            return None  # between two runs of the chain
        return Verdict.UNNAMED if _lacks_inlined(frames, own) else Verdict.WRONG
    else:
        frames = [frame for frame in frames if frame.name in own or _is_missing(frame)]
    named = [frame for frame in frames if not _is_missing(frame)]
    shown = [frame.name for frame in named]
    expected = [name for name, *_ in chain.frames]
    if not _is_part(shown, expected):
        return Verdict.WRONG
    places = {name: (first, last) for name, first, last in chain.frames}
    if any(not _is_within(frame.line, *places[frame.name]) for frame in named):
        return Verdict.LINE
    if sample.mark:
        return Verdict.CUT
    if len(named) < len(frames):
        return Verdict.UNNAMED
    if shown != expected[len(expected) - len(shown) :]:
        return Verdict.WRONG
    return Verdict.TRUE if shown == expected else Verdict.TRANSIT


class Observed(v8_stacks.Observed):
    """What was sampled of a program while it had the chains that it has told."""

    def __init__(self, chains, samples, moves):
        """`moves`: all objects move all the time."""
        self.moves = moves
        self.ways = {chain.way for chain in chains.values()}
        self.verdicts = collections.defaultdict(collections.Counter)  # by way
        self.shown = collections.defaultdict(collections.Counter)
        self.exit_code, self.trace, self.output = None, collections.Counter(), ""
        for sample in samples:
            before, _, number = sample.labels.get("comm", "").partition("in_")
            chain = chains.get(int(number)) if not before and number.isdigit() else None
            verdict = chain and judge(chain, sample)
            if not verdict:
                continue
            self.verdicts[chain.way][verdict] += sample.count
            text = v8_stacks.text_of(sample, "")
            self.shown[verdict][chain, text, sample.mark] += sample.count

    def unseen(self):
        return {way for way in self.ways if self.verdicts[way][Verdict.TRUE] < LEAST_SEEN}

    def print(self, most=6):
        super().print(most)
        print(f"exit code {self.exit_code}, {dict(self.trace)}")


class Running:
    def __init__(self, program, source, folder, start_target):
        folder.chmod(0o755)
        self._told, self._output = folder / "told", folder / "output"
        self._told.touch()
        self._observed = None
        self._moves = _MOVES in program.options
        script = source / "tests/targets/v8_storm.js"
        command = [program.node, *program.options, *_TRACES, script, folder, self._told]
        with (folder / "errors").open("wb") as errors, self._output.open("wb") as output:
            self.target = start_target(*command, stdout=output, stderr=errors)

    def wait_ready(self):
        def is_ready():
            assert self.target.process.poll() is None, "it ended: see `errors` in its folder"
            return v8_stacks.told(self._told)[1]

        wait_until(is_ready, "the program to be ready", START_BOUND_S, step_s=0.2)
        self.target.wait_burnt(SETTLE_MS)

    def observed(self, samples):
        chains, _ = v8_stacks.told(self._told)
        self._observed = Observed(chains, samples, self._moves)
        return self._observed

    def end(self):
        self.target.process.send_signal(signal.SIGTERM)
        self._observed.exit_code = self.target.wait_exit()
        self._observed.output = self._output.read_text(errors="replace")
        lost = re.findall(r"^\[(bailout|OSR|discarding)\b", self._observed.output, re.MULTILINE)
        self._observed.trace = collections.Counter(lost)


def shares(observed):
    """(Share, samples that are bad, of how many) of each kind of fault."""
    total = observed.count()
    unnamed = UNNAMED_MOVED if observed.moves else UNNAMED
    return {
        "wrong": (WRONG, observed.count(Verdict.WRONG), total),
        "of another line": (LINE, observed.count(Verdict.LINE), total),
        "cut": (CUT, observed.count(Verdict.CUT), total),
        "unnamed": (unnamed, observed.count(Verdict.UNNAMED), total),
    }


def is_enough(observed):
    decisions = (share.decide(bad, total) for share, bad, total in shares(observed).values())
    return Decision.OPEN not in decisions and not observed.unseen()


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    options = {name: options for name, (options, _) in VARIANTS.items()}
    return v8_test.observe(
        v8_test.installed(request, options),
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("v8_storm"),
        start=Running,
        is_enough=is_enough,
    )


def assert_few(observed, what):
    share, bad, total = shares(observed)[what]
    assert_rare(share, [(bad, total)], f"stacks that are {what}")


def test_no_function_has_the_name_of_another(name, observed):
    assert_few(observed, "wrong")


def test_its_lines_are_its_own(name, observed):
    assert_few(observed, "of another line")


def test_its_stacks_are_whole(name, observed):
    assert_few(observed, "cut")


def test_most_functions_have_names(name, observed):
    assert_few(observed, "unnamed")


def test_every_way_is_seen(name, observed):
    assert not observed.unseen()


def test_the_program_had_its_storms_and_noticed_nothing(name, observed):
    assert observed.exit_code == 0 and observed.output.endswith("all is well\n")
    _, losses = VARIANTS[name]
    assert not [loss for loss in losses if observed.trace[loss] < LEAST_STORM], observed.trace
