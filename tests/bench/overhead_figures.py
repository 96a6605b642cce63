# SPDX-License-Identifier: Apache-2.0
"""What a run under a limit of `overhead` came to, beside one without."""
import dataclasses

CPU_WITHIN = 0.20  # of the limit
TIME_WITHIN = 0.03  # of the other run's, of each program with so many samples:
SAMPLES_LEAST = 10_000
_KEYS = ("cpu", "memory")


@dataclasses.dataclass(frozen=True)
class Cost:
    cpu: float  # CPU seconds in a second
    memory_bytes: float
    rate: float  # samples a second on each CPU, at the end


@dataclasses.dataclass(frozen=True)
class Result:
    """Of each of the two runs, `limited` and `unlimited`."""

    cost: dict
    programs: dict  # {run: {name: (samples, seconds)}}


def parse_limits(text):
    """{option: value} of cpu=0.5%,memory=64MiB"""
    limits = dict(part.partition("=")[::2] for part in text.split(","))
    if not limits or set(limits) - set(_KEYS) or not all(limits.values()):
        raise ValueError(f"--overhead {text!r}: write it as cpu=0.5%,memory=64MiB")
    return limits


def cost(before, after):
    """Of two readings (seconds, CPU seconds, bytes, period in nanoseconds)."""
    seconds = after[0] - before[0]
    return Cost((after[1] - before[1]) / seconds, after[2], 1e9 / after[3])


def compared(result):
    """[(name, samples without a limit, seconds, seconds with it, difference)], most first."""
    limited = result.programs["limited"]
    rows = []
    for name, (samples, seconds) in result.programs["unlimited"].items():
        theirs = limited[name][1] if name in limited else 0.0
        rows.append((name, samples, seconds, theirs, theirs / seconds - 1))
    return sorted(rows, key=lambda row: -row[1])


def table(result, limits):
    lines = [f"overhead: {', '.join(f'{key} {value}' for key, value in limits.items())}", ""]
    lines += ["| | CPU | memory | samples a second |", "| --- | --- | --- | --- |"]
    for name, each in result.cost.items():
        mib = each.memory_bytes / (1 << 20)
        lines.append(f"| {name} | {100 * each.cpu:.2f} % | {mib:.1f} MiB | {each.rate:.1f} |")
    lines += ["", "| program | samples | CPU time | with the limit | difference |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for name, samples, seconds, theirs, difference in compared(result):
        if samples >= SAMPLES_LEAST / 10:
            lines.append(
                f"| {name} | {samples:,} | {seconds:.2f} s | {theirs:.2f} s"
                f" | {100 * difference:+.1f} % |"
            )
    return "\n".join(lines)


def complaints(result, limits):
    """What is not as it should be."""
    found = []
    if "cpu" in limits:
        limit = float(limits["cpu"].rstrip("%")) / 100
        achieved, without = result.cost["limited"].cpu, result.cost["unlimited"].cpu
        if without <= limit:
            found.append(f"without a limit it takes {100 * without:.2f} %: give a lower one")
        elif abs(achieved / limit - 1) > CPU_WITHIN:
            found.append(f"{100 * achieved:.2f} % of a CPU is not within 20 % of the limit")
    long = [row for row in compared(result) if row[1] >= SAMPLES_LEAST]
    if not long:
        found.append(f"no program has {SAMPLES_LEAST} samples: measure for longer")
    for name, _, _, _, difference in long:
        if abs(difference) > TIME_WITHIN:
            found.append(f"{name}: CPU time differs by {100 * difference:+.1f} %")
    return found
