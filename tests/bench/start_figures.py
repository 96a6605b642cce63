# SPDX-License-Identifier: Apache-2.0
"""What starts of profilers on a busy machine came to. Pure functions."""
import dataclasses
import math
from collections.abc import Callable

import figures
import report

FIXED_S = 15  # after the start, whatever has been seen by then
COLUMNS = ("profcol", "reference")
_WORDS = {0.5: "half of the processes", 0.95: "95 % of them", 1: "all of them"}


def quantile(times, share):
    """The time by which this share of all had theirs; None where it never did.

    Those without a time, None, are counted: theirs is later than any.
    """
    if not times:
        return None
    ordered = sorted(math.inf if each is None else each for each in times)
    found = ordered[math.ceil(share * len(ordered)) - 1]
    return None if math.isinf(found) else found


def cost_at(readings, when):
    """Of [seconds, cost] in their order, the cost at a time between two of them; None beyond."""
    before = [0, 0]
    for reading in readings:
        if reading[0] >= when:
            passed = reading[0] - before[0]
            part = (when - before[0]) / passed if passed else 1
            return before[1] + part * (reading[1] - before[1])
        before = reading
    return None


def _times(measurement, key="complete_s"):
    return [each[key] for each in measurement["processes"]]


def _count(key):
    return lambda measurement: sum(each is not None for each in _times(measurement, key))


def _time(share, key="complete_s"):
    return lambda measurement: quantile(_times(measurement, key), share)


def _mean(measurement):
    known = [each for each in _times(measurement) if each is not None]
    return sum(known) / len(known) if known else None


def _cost(when, with_bpf):
    """CPU seconds by the time that `when` tells of a measurement."""

    def value(measurement):
        time = when(measurement)
        cpu = None if time is None else cost_at(measurement["cpu"], time)
        if cpu is None or not with_bpf:
            return cpu
        bpf = cost_at(measurement["bpf"], time)
        return None if bpf is None else cpu + bpf

    return value


@dataclasses.dataclass(frozen=True)
class Figure:
    """A row of the table: of one measurement a number, or None."""

    label: str
    unit: str
    value: Callable


def _cost_figures(label, with_bpf):
    rows = [(f"until {_WORDS[share]} had one", _time(share)) for share in _WORDS]
    rows.append((f"{FIXED_S} s after the start", lambda _: FIXED_S))
    return [Figure(f"{label} {what}", "s", _cost(when, with_bpf)) for what, when in rows]


FIGURES = (
    Figure("processes seen", "", _count("seen_s")),
    Figure("processes with a complete stack", "", _count("complete_s")),
    Figure("start to the first sample of half of the processes", "s", _time(0.5, "seen_s")),
    *(
        Figure(f"start to the first complete stack of {words}", "s", _time(share))
        for share, words in _WORDS.items()
    ),
    Figure("the same, mean of those that had one", "s", _mean),
    *_cost_figures("agent, CPU time", with_bpf=False),
    *_cost_figures("agent and BPF, CPU time", with_bpf=True),
)


def by_profiler(measurements):
    """{profiler: its measurements} of those that succeeded."""
    found = {}
    for each in measurements:
        if "failed" not in each:
            found.setdefault(each["profiler"], []).append(each)
    return found


def summarize(rounds):
    """The Spread of each figure over the rounds of one profiler, or None.

    A time that one round never came to is later than any: then there is none.
    """
    found = {}
    for figure in FIGURES:
        values = [figure.value(each) for each in rounds]
        found[figure.label] = None if None in values else figures.spread(values)
    return found


def _row(figure, summaries, names):
    spreads = [summaries[name][figure.label] for name in names]
    cells = [report.cell(each, figure.unit) for each in spreads]
    if set(COLUMNS) <= set(names):
        value = figures.ratio(*(summaries[name][figure.label] for name in COLUMNS))
        cells.append("–" if value is None else report.number(value))
    return [report.label(figure), *cells]


def _main_table(rounds):
    names = [name for name in COLUMNS if name in rounds]
    summaries = {name: summarize(rounds[name]) for name in names}
    head = ["", *names]
    if set(COLUMNS) <= set(names):
        head.append("profcol / reference")
    return report.table(head, [_row(figure, summaries, names) for figure in FIGURES])


def _program_row(program, rounds, names):
    row = [f"`{program}`"]
    for name in names:
        mine = [
            each
            for measurement in rounds[name]
            for each in measurement["processes"]
            if each["program"] == program
        ]
        with_one = sum(each["complete_s"] is not None for each in mine)
        median = quantile([each["complete_s"] for each in mine], 0.5)
        samples = sum(each["samples"] for each in mine)
        complete = sum(each["complete"] for each in mine)
        row += [
            f"{with_one} of {len(mine)}",
            "–" if median is None else report.number(median),
            f"{100 * complete / samples:.1f}" if samples else "–",
        ]
    return row


def program_table(rounds):
    """By kind of program, over all rounds: who got a complete stack, when, and how many later."""
    names = [name for name in COLUMNS if name in rounds]
    programs = dict.fromkeys(
        each["program"] for name in names for one in rounds[name] for each in one["processes"]
    )
    labels = ("with a complete stack", "half of them after, s", "complete of all samples, %")
    head = [""] + [f"{label}, {name}" for name in names for label in labels]
    return report.table(head, [_program_row(program, rounds, names) for program in programs])


def _introduction(result):
    identity = result["identity"]
    return (
        f"{report.provenance(result)}"
        f" {identity['rate']} samples a second, {identity['seconds']} s from the start.\n\n"
        "Each cell is the median of the rounds, with the least and the most of them; a dash where"
        " a round never came to it."
    )


def _remark(rounds):
    """What the figures rest on."""
    dues = ", ".join(
        f"{name} {sum(map(figures.due, each)):,} (rounds: {len(each)})"
        for name, each in rounds.items()
    )
    every = [figures.others_share(each) or 0 for some in rounds.values() for each in some]
    mark = " **Not a quiet machine.**" if max(every) > figures.OTHERS_MOST else ""
    return f"Samples due: {dues}. Of other programs: {100 * max(every):.1f} % at most.{mark}"


def tables(result):
    """All tables of a result, as Markdown."""
    rounds = by_profiler(result["measurements"])
    parts = [_introduction(result)]
    if rounds:
        parts += [_remark(rounds), _main_table(rounds), program_table(rounds)]
    parts += report.failures(
        result["measurements"], lambda each: f"{each['profiler']}, round {each['round']}"
    )
    return "\n\n".join(parts) + "\n"
