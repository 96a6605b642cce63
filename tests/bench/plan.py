# SPDX-License-Identifier: Apache-2.0
"""What a run measures, in which order, and how long that takes."""
import dataclasses

LOADS = ("mixed", "storm", "large", "idle", "deep", "cold")
MORE_LOADS = ("many_files", "fleet", "node")  # only when they are asked for
PROFILERS = ("profcol", "reference", "perf")
BARE = "none"  # the load without a profiler, for its slowdown

DEFAULT_RATE = 99
SECOND_RATE = 20  # what both profilers ship with; for the mixed load only
SECONDS = 20  # of a measurement
# So few samples of `storm` are due, some 55 a second, that 10,000 in three rounds take longer.
LOAD_SECONDS = {"storm": 70, "many_files": 70}
COUNTED = "counted"  # the mixed load again, once, with counts instead of time stamps from profcol

# What a measurement takes beside its window: start, settling, flush, reading what came out.
# Seen on 2 CPUs; only the announcement of the run depends on it.
OVERHEAD_S = {"profcol": 12, "reference": 14, "perf": 7, BARE: 4}
LOAD_START_S = {"mixed": 9}  # its runtimes compile first


@dataclasses.dataclass(frozen=True)
class Case:
    """A load at a rate. Of a `counted` one profcol sends how often a stack was seen, and not when
    each time: `timestamps: false`. The reference has no such option and sends what it always does.
    """

    load: str
    rate: int
    counted: bool = False
    seconds: int = SECONDS

    @property
    def name(self):
        return f"{self.load}@{self.rate}" + (f"-{COUNTED}" if self.counted else "")


@dataclasses.dataclass(frozen=True)
class Step:
    """One measurement."""

    case: Case
    round: int
    profiler: str

    @property
    def key(self):
        return f"{self.case.name} round {self.round} {self.profiler}"


def cases(loads, rate, seconds=None):
    """The cases of these loads, at `rate`, for `seconds`, or, when these are None, the usual."""
    known = (*LOADS, *MORE_LOADS)
    unknown = set(loads) - set(known)
    if unknown:
        raise ValueError(f"no load {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    found = []
    for load in loads:
        rates = [rate] if rate else [DEFAULT_RATE, SECOND_RATE]
        if load != "mixed":
            rates = rates[:1]
        length = seconds or LOAD_SECONDS.get(load, SECONDS)
        found += [Case(load, each, seconds=length) for each in rates]
        # For the bytes on the wire, which differ little from round to round.
        if load == "mixed":
            found.append(Case(load, rates[0], counted=True, seconds=length))
    return found


def known_profilers(names, known=PROFILERS):
    """These, unless there is an unknown one among them, or none at all."""
    names = [name for name in names if name]
    unknown = set(names) - set(known)
    if unknown or not names:
        wrong = ", ".join(sorted(unknown)) or "given"
        raise ValueError(f"no profiler {wrong}; there is {', '.join(known)}")
    return names


def steps(cases_, rounds, profilers):
    """The measurements in their order: in each round of a case the profilers take turns.

    perf has one turn: it is there for orientation, the ratios are between the other two, and none
    in a counted case, which is about what they send.
    """
    return [
        Step(case, number, profiler)
        for case in cases_
        for number in range(1, (1 if case.counted else rounds) + 1)
        for profiler in _turns(case, profilers)
        if profiler != "perf" or number == 1
    ]


def _turns(case, profilers):
    """Who takes a turn in each round of a case."""
    if case.counted:
        return [each for each in profilers if each != "perf"]
    return ([] if case.load == "idle" else [BARE]) + list(profilers)


def estimate_s(steps_):
    """About how long the measurements take."""
    return sum(
        step.case.seconds + OVERHEAD_S[step.profiler] + LOAD_START_S.get(step.case.load, 0)
        for step in steps_
    )


def estimates_s(steps_):
    """The same by load, in their order."""
    loads = dict.fromkeys(step.case.load for step in steps_)
    return {load: estimate_s([step for step in steps_ if step.case.load == load]) for load in loads}
