# SPDX-License-Identifier: Apache-2.0
"""What a run under a limit of `overhead` came to, beside one without."""
import dataclasses

CPU_WITHIN = 0.20  # of the limit
# Of the other run's, of each program with so many samples in both: chance makes more of fewer.
TIME_WITHIN = 0.03
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


@dataclasses.dataclass(frozen=True)
class Compared:
    """A program, without a limit and with one."""

    name: str
    samples: int
    seconds: float
    limited_samples: int
    limited_seconds: float

    @property
    def difference(self):
        return self.limited_seconds / self.seconds - 1

    @property
    def least_samples(self):
        return min(self.samples, self.limited_samples)


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
    """[Compared], of the programs that were seen without a limit, most seconds first."""
    limited = result.programs["limited"]
    rows = [
        Compared(name, *unlimited, *limited.get(name, (0, 0.0)))
        for name, unlimited in result.programs["unlimited"].items()
    ]
    return sorted(rows, key=lambda row: -row.seconds)


def table(result, limits):
    lines = [f"overhead: {', '.join(f'{key} {value}' for key, value in limits.items())}", ""]
    lines += ["| | CPU | memory | samples a second |", "| --- | --- | --- | --- |"]
    for name, each in result.cost.items():
        mib = each.memory_bytes / (1 << 20)
        lines.append(f"| {name} | {100 * each.cpu:.2f} % | {mib:.1f} MiB | {each.rate:.1f} |")
    lines += [
        "",
        "| program | samples | CPU time | samples with the limit | CPU time | difference |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in compared(result):
        if row.samples >= SAMPLES_LEAST / 10:
            lines.append(
                f"| {row.name} | {row.samples:,} | {row.seconds:.2f} s | {row.limited_samples:,}"
                f" | {row.limited_seconds:.2f} s | {100 * row.difference:+.1f} % |"
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
    long = [row for row in compared(result) if row.least_samples >= SAMPLES_LEAST]
    if not long:
        found.append(f"no program has {SAMPLES_LEAST} samples in both: measure for longer")
    for row in long:
        if abs(row.difference) > TIME_WITHIN:
            found.append(f"{row.name}: CPU time differs by {100 * row.difference:+.1f} %")
    return found
