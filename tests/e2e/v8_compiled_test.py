# SPDX-License-Identifier: Apache-2.0
"""Regular expressions and functions of WebAssembly have names in the stacks of Node.js, and no other
one's: whichever compiler made their code.

The program tells what runs in which of its functions (tests/targets/v8_compiled.js).
"""
import collections
import dataclasses
import enum
import re

import pytest

from decided import Share, assert_few, is_decided
import v8_stacks
import v8_test
from v8_test import observed
from variants import variants
from waiting import wait_until


START_BOUND_S = 300
# CPU time in which the program is met, its files are read, and its code is compiled.
SETTLE_MS = 4000
LEAST_SEEN = 3  # samples of each that are true
SOURCE_BYTES = 1024  # of an expression

WRONG = Share(fine=0.0005, fault=0.003)
UNNAMED = Share(fine=0.01, fault=0.03)

# How the same program is run: as it is, and with one compiler of each alone.
VARIANTS = {
    "usual": (),
    "at_once": ("--no-regexp-tier-up", "--no-liftoff"),
    "first_compiler": ("--no-wasm-tier-up",),
}

pytestmark = pytest.mark.parametrize(
    "name", variants(["usual"], ["at_once", "first_compiler"], "usual")
)

_NAMELESS = re.compile(r"\((WebAssembly|regular expression)\)$|\[name ")
_MODULE = re.compile(r"wasm|module|[0-9a-f]{8}$")  # what V8 calls one, which has no file
_LATE = "[name not read in time]"  # the machine has other things to do


@dataclasses.dataclass(frozen=True)
class Program(v8_test.Program):
    has_wasm: bool = True  # what is known of it


class Verdict(enum.Enum):
    TRUE = "true"
    TRANSIT = "on the way"  # it is entered or left, or something else runs for it
    UNNAMED = "unnamed"
    WRONG = "wrong"


def told(path):
    """By phase, what the program has told in the file at `path`; whether it is ready."""
    phases, is_ready = {}, False
    for what in v8_stacks.told_lines(path):
        if "phase" in what:
            phases[what["phase"]] = what
        else:
            is_ready = True
    return phases, is_ready


def shown_regexp(source):
    """The name of its frames."""
    source = source.replace("\n", "?")
    encoded = source.encode()
    if len(encoded) > SOURCE_BYTES:
        source = encoded[:SOURCE_BYTES].decode(errors="ignore") + "..."
    return f"RegExp: {source}"


def is_end(names, chain):
    """Are these the callers of the chain, the leaf missing or not?"""
    return chain[len(chain) - len(names) :] == names


def judge(what, frames):
    """The Verdict on the frames above the function that runs `what`, leaf first."""
    regexps = [frame.name for frame in frames if (frame.name or "").startswith("RegExp: ")]
    functions = [frame.name for frame in frames if _MODULE.match(frame.source or "")]
    # Old versions have a function of JavaScript for what is exported, called by its number.
    if functions and functions[-1].isdigit():
        functions.pop()
    if "regexp" in what:
        if functions or any(name != shown_regexp(what["regexp"]) for name in regexps):
            return Verdict.WRONG
        is_whole = bool(regexps)
    else:
        chain = what["wasm"]
        # A recursion.
        if len(chain) == 1:
            chain = chain * max(len(functions), 1)
        if regexps or not is_end(functions, chain):
            return Verdict.WRONG
        is_whole = functions == chain
    names = [frame.name or "" for frame in frames]
    # Wrappers have none, either.
    if any(map(_NAMELESS.match, names)) or names[:1] == ["(V8 code)"]:
        return Verdict.UNNAMED
    return Verdict.TRUE if is_whole else Verdict.TRANSIT


@dataclasses.dataclass
class Observed:
    """By phase, how many samples have which Verdict; and what those look like that are bad."""

    phases: dict
    verdicts: dict
    shown: collections.Counter

    def count(self, *verdicts):
        return sum(
            number
            for counts in self.verdicts.values()
            for verdict, number in counts.items()
            if not verdicts or verdict in verdicts
        )

    def unseen(self):
        return {name for name in self.phases if self.verdicts[name][Verdict.TRUE] < LEAST_SEEN}

    def print(self, most=12):
        for name, what in self.phases.items():
            counts = self.verdicts[name]
            text = what.get("regexp") or what["wasm"]
            shown = ", ".join(f"{counts[one]} {one.value}" for one in Verdict)
            print(f"{name}: {shown}", repr(text)[:60])
        for (name, verdict, text), count in self.shown.most_common(most):
            print(f"{verdict.value}, {count} of {name}:\n    {text}")


def observe_samples(phases, samples):
    verdicts = collections.defaultdict(collections.Counter)
    shown = collections.Counter()
    for sample in samples:
        names = [frame.name for frame in sample.frames]
        at = next((at for at, name in enumerate(names) if name in phases), None)
        if at is None:
            continue
        if _LATE in names[:at]:
            continue
        verdict = judge(phases[names[at]], sample.frames[:at])
        verdicts[names[at]][verdict] += sample.count
        if verdict in (Verdict.WRONG, Verdict.UNNAMED):
            text = " ".join(repr(name)[:60] for name in names[: at + 1][:12])
            shown[names[at], verdict, text] += sample.count
    return Observed(phases, verdicts, shown)


class Running:
    def __init__(self, program, source, folder, start_target):
        folder.chmod(0o755)
        self._has_wasm = program.has_wasm
        self._told = folder / "told"
        self._told.touch()
        script = folder / "v8_compiled.js"
        script.write_bytes((source / "tests/targets/v8_compiled.js").read_bytes())
        with (folder / "errors").open("wb") as errors:
            self.target = start_target(
                program.node, *program.options, script, self._told, stderr=errors
            )

    def wait_ready(self):
        def is_ready():
            assert self.target.process.poll() is None, "it ended: see `errors` in its folder"
            return told(self._told)[1]

        wait_until(is_ready, "the program to be ready", START_BOUND_S, step_s=0.2)
        self.target.wait_burnt(SETTLE_MS)

    def observed(self, samples):
        phases, _ = told(self._told)
        if not self._has_wasm:
            phases = {name: what for name, what in phases.items() if "wasm" not in what}
        return observe_samples(phases, samples)

    def end(self):
        self.target.kill()


def shares(observed):
    """(Share, samples that are bad, of how many) of each kind of fault."""
    total = observed.count()
    return {
        "wrong": (WRONG, observed.count(Verdict.WRONG), total),
        "unnamed": (UNNAMED, observed.count(Verdict.UNNAMED), total),
    }


def is_enough(observed):
    return is_decided(shares(observed)) and not observed.unseen()


def observe_compiled(programs, *arguments):
    return v8_test.observe(programs, *arguments, start=Running, is_enough=is_enough)


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    return observe_compiled(
        v8_test.installed(request, VARIANTS, Program),
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("v8_compiled"),
    )


def test_what_it_runs_has_its_own_name(name, observed):
    assert_few(shares(observed), "wrong")


def test_what_it_runs_has_a_name(name, observed):
    assert_few(shares(observed), "unnamed")


def test_all_that_it_runs_is_seen(name, observed):
    assert not observed.unseen()
