# SPDX-License-Identifier: Apache-2.0
"""What a run measures, in which order, and how long that takes."""
import dataclasses

LOADS = ("mixed", "storm", "large", "idle", "deep", "cold")
PROFILERS = ("profcol", "reference", "perf")
BARE = "none"  # the load without a profiler, for its slowdown

DEFAULT_RATE = 99
SECOND_RATE = 20  # what both profilers ship with; for the mixed load only

# What a measurement takes beside its window: start, settling, flush, reading what came out.
# Seen on 2 CPUs; only the announcement of the run depends on it.
OVERHEAD_S = {"profcol": 12, "reference": 14, "perf": 7, BARE: 4}
LOAD_START_S = {"mixed": 9}  # its runtimes compile first


@dataclasses.dataclass(frozen=True)
class Case:
    """A load at a rate."""

    load: str
    rate: int

    @property
    def name(self):
        return f"{self.load}@{self.rate}"


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

    perf has one turn: it is there for orientation, the ratios are between the other two.
    """
    return [
        Step(case, number, profiler)
        for case in cases_
        for number in range(1, rounds + 1)
        for profiler in ([] if case.load == "idle" else [BARE]) + list(profilers)
        if profiler != "perf" or number == 1
    ]


def estimate_s(steps_, seconds):
    """About how long the measurements take."""
    return sum(
        seconds + OVERHEAD_S[step.profiler] + LOAD_START_S.get(step.case.load, 0)
        for step in steps_
    )
