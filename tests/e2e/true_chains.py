# SPDX-License-Identifier: Apache-2.0
"""Whether a sampled stack is one that its program had, by the shadow stack that it kept."""
import dataclasses
import enum
import re

import elf_places

# The receiver's default; of a deeper stack this many frames are reported, and why no more.
FRAME_LIMIT = 1024
DEPTH_REASON = "[max_stack_depth]"

ANONYMOUS = "<anonymous>"
SIGNAL = "<signal>"
UNWINDER = "<unwinder>"
VDSO = "[vdso]"

# What returns from a signal handler, where that is not in libc: glibc's, musl's, Go's. On arm64 it
# is in the vDSO.
_RESTORERS = {"__restore_rt", "__restore", "runtime.sigreturn__sigaction.abi0"}
_UNKNOWN = "<unknown>"


class Verdict(enum.Enum):
    TRUE = "true"  # a chain as the program recorded it
    TRANSIT = "on the way"  # the beginning of one, seen from the root, or otherwise in between
    ELSEWHERE = "elsewhere"  # whole, and none of the program's own functions is in it
    WRONG = "wrong"


def split_reason(frames):
    """The frames of a stack without the mark that says why it was cut, and the mark or None."""
    if frames and frames[-1].is_mark:
        return frames[:-1], frames[-1].name
    return frames, None


def user_part(frames):
    """`frames` without the kernel's: those of the kernel image, its modules and BPF programs."""
    for at, frame in enumerate(frames):
        of_kernel = frame.file and "/" not in frame.file and "vdso" not in frame.file
        of_bpf = not frame.file and not frame.is_made
        if not of_kernel and not of_bpf:
            return frames[at:]
    return ()


@dataclasses.dataclass(frozen=True)
class Judged:
    """A stack, with what it is and how it looks, leaf first."""

    verdict: Verdict
    chain: tuple  # of the program's functions; empty where it has no root
    shown: tuple  # every frame of user code, and the mark of one that was cut


class TrueChains:
    """What a program may be seen to do. `target` says how its stacks look (unwind_targets.py),
    `shadow` is what the program told of itself, `symbols` the file with its symbols.
    """

    def __init__(self, target, path, symbols, shadow):
        self._target = target
        self._path = str(path)
        self._own = {name for name in shadow.functions if self._is_own(name)}
        self._symbols = elf_places.Places(symbols, self._own)
        # As text, a character a function, root first: comparing and searching are fast then.
        self._letters = {name: chr(0x100 + at) for at, name in enumerate(shadow.functions)}
        self._between = {self._spell(chain) for chain in target.between}
        self._signal = self._letters.get(SIGNAL)
        self._places = {}
        self.learn(shadow)

    def learn(self, shadow):
        """Go by what the program, which goes on, has told since: chains come to it, and none goes."""
        self.shadow = shadow
        self._chains = {self._spell(chain) for chain in shadow.chains}
        # A handler may have a shadow stack of its own, where nobody knows what it interrupts.
        self._has_handler_chains = any(chain[0] == self._signal for chain in self._chains)

    @staticmethod
    def _is_own(name):
        return name not in (ANONYMOUS, SIGNAL, UNWINDER, VDSO) and ".so" not in name

    def _spell(self, chain):
        return "".join(self._letters.get(name, "?") for name in reversed(chain))

    def _name_of(self, frame):
        if frame.file == self._path:
            # A handler's return address is the first byte, and no call stands before it.
            if (behind := self._symbols.name_at(frame.address + 1)) in _RESTORERS:
                return behind
            return self._symbols.name_at(frame.address) or _UNKNOWN
        if "vdso" in frame.file:
            return VDSO
        return frame.file.rpartition("/")[2] or ANONYMOUS

    def _place(self, frame):
        key = frame.file, frame.address
        if key not in self._places:
            self._places[key] = self._name_of(frame)
        return self._places[key]

    def _without_leaf_of_others(self, chain):
        """`chain` from the first function on that the program records."""
        at = 0
        while at < len(chain) and chain[at] not in self._letters and chain[at] != _UNKNOWN:
            at += 1
        if at and UNWINDER in self._letters and chain[at - 1] != elf_places.PLT:
            return [UNWINDER, *chain[at:]]
        return chain[at:]

    def _normalise(self, chain):
        glue = self._target.glue
        chain = [place for place in chain if not (glue and re.match(glue, place))]
        out = []
        for place in self._without_leaf_of_others(chain):
            if place == VDSO and out and out[-1] == VDSO:
                continue  # it has functions of its own
            if self._signal and (place in _RESTORERS or ".so" in place or place == VDSO):
                place = SIGNAL
            out.append(place)
        return tuple(out)

    def _judge_piece(self, text):
        if text in self._chains:
            return Verdict.TRUE
        if text in self._between:
            return Verdict.TRANSIT
        if text != self._signal and any(chain.startswith(text) for chain in self._chains):
            return Verdict.TRANSIT
        return Verdict.WRONG

    def judge_chain(self, chain):
        """The Verdict on a chain of functions, leaf first, of a whole stack."""
        pieces = [self._spell(chain)]
        if self._has_handler_chains:
            first, *others = pieces[0].split(self._signal)
            pieces = [first] if first else []
            pieces += [self._signal + other for other in others]
        verdicts = {self._judge_piece(piece) for piece in pieces}
        return next(v for v in (Verdict.WRONG, Verdict.TRANSIT, Verdict.TRUE) if v in verdicts)

    def judge_cut(self, chain):
        """The same of a stack that was cut by the limit: its leaf's end is there."""
        text = self._spell(chain)
        if any(whole.endswith(text) for whole in self._chains):
            return Verdict.TRUE
        return Verdict.TRANSIT if any(text in whole for whole in self._chains) else Verdict.WRONG

    def judge(self, frames):
        """A Judged of the frames of a sample."""
        frames, reason = split_reason(frames)
        places = [self._place(frame) for frame in user_part(frames) if not frame.is_inlined]
        shown = (*places, *((reason,) if reason else ()))
        if not self._own & set(places):
            return Judged(Verdict.WRONG if reason else Verdict.ELSEWHERE, (), shown)
        roots = [at for at, place in enumerate(places) if place in self._target.roots]
        if not roots:
            is_cut = reason == DEPTH_REASON and len(places) == FRAME_LIMIT
            verdict = self.judge_cut(self._normalise(places)) if is_cut else Verdict.WRONG
            return Judged(verdict, (), shown)
        chain = self._normalise(places[: roots[-1] + 1])
        tail = " ".join(places[roots[-1] + 1 :])
        if reason or not re.fullmatch(self._target.tail, tail):
            return Judged(Verdict.WRONG, chain, shown)
        return Judged(self.judge_chain(chain), chain, shown)

    def leaf_chains(self):
        """The chains, leaf first, that end where the program spends its time."""
        return [chain for chain in self.shadow.chains if chain[0] in self._target.leaves]
