# SPDX-License-Identifier: Apache-2.0
"""What a run measures, in which order, and how long that takes."""
import dataclasses

LOADS = ("mixed", "storm", "large", "idle", "deep", "cold")
PROFILERS = ("profcol", "reference", "perf")
BARE = "none"  # the load without a profiler, for its slowdown

DEFAULT_RATE = 99
SECOND_RATE = 20  # what both profilers ship with; for the mixed load only
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


def cases(loads, rate):
    """The cases of these loads, at `rate` or, when that is None, at the usual ones."""
    unknown = set(loads) - set(LOADS)
    if unknown:
        raise ValueError(f"no load {', '.join(sorted(unknown))}; there is {', '.join(LOADS)}")
    found = []
    for load in loads:
        rates = [rate] if rate else [DEFAULT_RATE, SECOND_RATE]
        if load != "mixed":
            rates = rates[:1]
        found += [Case(load, each) for each in rates]
        # For the bytes on the wire, which differ little from round to round.
        if load == "mixed":
            found.append(Case(load, rates[0], counted=True))
    return found


def known_profilers(names):
    """These, unless there is an unknown one among them."""
    names = [name for name in names if name]
    unknown = set(names) - set(PROFILERS)
    if unknown:
        raise ValueError(
            f"no profiler {', '.join(sorted(unknown))}; there is {', '.join(PROFILERS)}"
        )
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


def estimate_s(steps_, seconds):
    """About how long the measurements take."""
    return sum(
        seconds + OVERHEAD_S[step.profiler] + LOAD_START_S.get(step.case.load, 0)
        for step in steps_
    )
