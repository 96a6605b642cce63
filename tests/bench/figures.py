# SPDX-License-Identifier: Apache-2.0
"""From raw measurements to the figures of the table. Pure functions."""
import collections
import dataclasses
import math
import statistics
from collections.abc import Callable

BPF_PROG_TYPE_PERF_EVENT = 7  # linux/bpf.h

KERNEL_THREADS = "kernel threads"  # in a list of programs
NATIVE = "native"  # among the runtimes that stacks lead through: none; Go is native

# How the names of a load's executables begin (loads/loads.py).
LOAD_PROGRAMS = {
    "mixed": (
        "python3", "node", "java", "golang_work", "cxx_work", "compile_loop", "cc1plus", "g++",
        "x86_64-linux-gnu-g++", "aarch64-linux-gnu-g++",
    ),
    "storm": ("storm_",),
    "large": ("clang", "compile_loop"),
    "idle": ("sleep",),
    "deep": ("deep_work",),
    "cold": ("cold-",),
    "many_files": ("file-",),
    "node": ("node",),
}  # fmt: skip

# Loads whose units are processes.
OF_PROCESSES = ("storm", "many_files")

# The map in which a profiler counts what its BPF programs walk, and the places there that are to be
# added up: of the reference metricID_Unwind*Frames and, for outermost frames,
# metricID_UnwindNativeStackDeltaStop (support/ebpf/types.h of the version that
# tests/peers/reference builds). Of the others each frame that they deliver was walked.
WALKED = {"reference": ("metrics", (6, 7, 16, 22, 35, 42, 54, 56, 91))}

# A share of fewer than these is known to some percent only, of fewer than those not at all.
WHOLE_FOR_EXACT = 10_000
WHOLE_FOR_ANY = 100

# Above this share of samples due of other programs a measurement is marked.
OTHERS_MOST = 0.02


@dataclasses.dataclass(frozen=True)
class Spread:
    """The value over all rounds, and how far they lie apart."""

    value: float
    least: float
    most: float
    count: int
    exact: bool = True  # False: a share of less than WHOLE_FOR_EXACT


def spread(values):
    """The median of those that are not None; None when there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(statistics.median(known), min(known), max(known), len(known))


def pooled(pairs):
    """Of parts and wholes of a share, the whole of all rounds taken as one.

    None where that is too little to say anything.
    """
    known = [pair for pair in pairs if pair and pair[1]]
    whole = sum(pair[1] for pair in known)
    if whole < WHOLE_FOR_ANY:
        return None
    rounds = [part / each for part, each in known]
    value = sum(pair[0] for pair in known) / whole
    return Spread(value, min(rounds), max(rounds), len(rounds), whole >= WHOLE_FOR_EXACT)


def ratio(ours, theirs):
    """Of two values; None where there is nothing to divide by."""
    if ours is None or theirs is None or not theirs.value:
        return None
    return ours.value / theirs.value


def _share(part, whole):
    return part / whole if whole else None


def is_counted(measurement):
    """Does it come without time stamps of the samples?"""
    return measurement.get("counted", False)


def due(measurement):
    """Samples due: interrupts on tasks other than the idle one."""
    return sum(measurement["due"][key] for key in ("kernel", "user", "other"))


def others_share(measurement):
    """How much of what was due was of programs that do not belong to the run."""
    return _share(measurement["due"]["other"], due(measurement))


def _found(measurement):
    """Counts over the samples of the window."""
    return measurement.get("summary", {}).get("all") or measurement.get("perf") or {}


def delivered(measurement):
    return _found(measurement).get("observations")


def delivered_share(measurement):
    count = delivered(measurement)
    return None if count is None else (count, due(measurement))


def complete_share(found):
    complete = found.get("complete", 0)
    return complete, complete + found.get("incomplete", 0)


def settled_share(found):
    """As complete_share, of what both profilers had had the time to prepare for."""
    complete = found.get("settled_complete", 0)
    return complete, complete + found.get("settled_incomplete", 0)


def named_share(found):
    return found.get("native_frames_named", 0), found.get("native_frames", 0)


def nameable_share(found):
    """As named_share, of frames for whose address the file itself has a function's name."""
    return found.get("nameable_frames_named", 0), found.get("nameable_frames", 0)


def is_of_load(program, case):
    """Is an executable of this name what the load of the case runs?"""
    return program.startswith(LOAD_PROGRAMS.get(case.split("@")[0], ("",)))


def _native(measurement):
    """Counts over the stacks of the load's programs that lead through no runtime's code."""
    sums = {}
    programs = measurement.get("summary", {}).get("native_programs", {})
    for name, counts in programs.items():
        if is_of_load(name, measurement["case"]):
            _add(sums, counts)
    return sums


def depth(measurement, _bare):
    found = _found(measurement)
    return _share(found.get("frames", 0), found.get("observations", 0))


def _bpf_ns(measurement):
    return sum(each["run_time_ns"] for each in measurement["bpf"]["programs"])


def bpf_ns_per_interrupt(measurement, _bare):
    """All programs of the profiler, over the interrupts of its sampling programs."""
    if "bpf" not in measurement:
        return None
    interrupts = sum(
        each["run_cnt"]
        for each in measurement["bpf"]["programs"]
        if each["type"] == BPF_PROG_TYPE_PERF_EVENT
    )
    return _share(_bpf_ns(measurement), interrupts)


def bpf_ns_per_frame(measurement, _bare):
    if "bpf" not in measurement:
        return None
    return _share(_bpf_ns(measurement), _found(measurement).get("frames", 0))


def walked_frames(measurement):
    """Frames that the BPF programs have walked; None where nobody counts them.

    Functions that a compiler has made parts of others are one frame with these there, and told
    apart later, in user space.
    """
    delivered_frames = _found(measurement).get("frames", 0)
    if measurement["profiler"] not in WALKED:
        return delivered_frames
    name, places = WALKED[measurement["profiler"]]
    counters = measurement["bpf"].get("counters", {}).get(name)
    kernel = measurement["summary"].get("frame_types", {}).get("kernel", {"frames": 0})
    return counters and kernel["frames"] + sum(counters[place] for place in places)


def bpf_ns_per_walked_frame(measurement, _bare):
    if "bpf" not in measurement:
        return None
    walked = walked_frames(measurement)
    return walked and _share(_bpf_ns(measurement), walked)


def _map_bytes(key):
    def value(measurement, _bare):
        maps = measurement.get("bpf", {}).get(key)
        return None if maps is None else sum(each["bytes"] for each in maps)

    return value


bpf_map_bytes = _map_bytes("maps")


def _held(end, key):
    return lambda measurement, _bare: measurement.get("ends", {}).get(end, {}).get(key)


def _descriptors(end):
    return _held(end, "descriptors")


def rss_and_maps(measurement, bare):
    """What the profiler holds at the end of the window."""
    parts = _held("end", "rss_bytes")(measurement, bare), bpf_map_bytes(measurement, bare)
    return None if None in parts else sum(parts)


def cpu_per_process(measurement, _bare):
    """Of a load of processes that come and go: over those that ran in the window."""
    load = measurement["load"]
    if measurement["case"].split("@")[0] not in OF_PROCESSES or not measurement["cpu"]:
        return None
    processes = sum(throughput(load).values()) * measurement["seconds"]
    return _share(measurement["cpu"]["total_s"], processes)


def _cpu_per_sample(key):
    def value(measurement, _bare):
        cpu = (measurement["cpu"] or {}).get(key)
        count = delivered(measurement)
        return None if cpu is None or not count else cpu / count

    return value


def whole_cost(measurement, _bare):
    """CPU time of agent and BPF programs, as a share of one CPU's time."""
    if not measurement["cpu"] or "bpf" not in measurement:
        return None
    used_s = measurement["cpu"]["total_s"] + _bpf_ns(measurement) / 1e9
    return used_s / measurement["seconds"]


def agent_cpu(measurement, _bare):
    return measurement["cpu"] and measurement["cpu"]["total_s"] / measurement["seconds"]


def wakeups(measurement, _bare):
    """Of all threads, a second."""
    woken = measurement.get("wakeups")
    return None if woken is None else sum(woken.values()) / measurement["seconds"]


def threads(rounds):
    """{thread: (share of one CPU, wake-ups a second)} over all rounds, the busiest first."""
    seconds, cpu_s, woken = 0, collections.Counter(), collections.Counter()
    for measurement in rounds.values():
        if measurement.get("threads_cpu_s") and not measurement.get("counted"):
            seconds += measurement["seconds"]
            cpu_s.update(measurement["threads_cpu_s"])
            woken.update(measurement["wakeups"])
    return {name: (cpu / seconds, woken[name] / seconds) for name, cpu in cpu_s.most_common()}


def _memory(key):
    return lambda measurement, _bare: measurement.get("memory", {}).get(key)


def raw_bytes(measurement, _bare):
    if "perf" in measurement:
        return _share(measurement["perf"]["file_bytes"], measurement["perf"]["recorded"])
    wire = measurement.get("wire", {})
    return _share(wire.get("raw_bytes", 0), wire.get("observations", 0))


def wire_bytes(measurement, _bare):
    wire = measurement.get("wire", {})
    return _share(wire.get("wire_bytes", 0), wire.get("observations", 0))


def _start(key):
    return lambda measurement, _bare: measurement.get("start", {}).get(key)


def throughput(load):
    """Units a second, by program."""
    return {
        name: units / load["seconds"] for name, units in (load.get("units") or {}).items()
    }


def slowdown(measurement, bare):
    """By how much less the programs did than without a profiler: geometric mean over them."""
    if bare is None:
        return None
    with_, without = throughput(measurement["load"]), throughput(bare["load"])
    logs = [
        math.log(without[name] / with_[name])
        for name in without
        if without[name] and with_.get(name)
    ]
    return math.exp(sum(logs) / len(logs)) - 1 if logs else None


def _complete(measurement):
    return complete_share(_found(measurement))


def _settled(measurement):
    return settled_share(_found(measurement))


def _settled_native(measurement):
    return settled_share(_native(measurement))


def _nameable(measurement):
    return nameable_share(_found(measurement))


@dataclasses.dataclass(frozen=True)
class Figure:
    """A row of the table."""

    key: str
    label: str
    unit: str  # see report.cell
    # (measurement, the bare one of the same round or None) -> number or None
    value: Callable = None
    # Or, of a share of something counted: measurement -> (part, whole) or None
    share: Callable = None
    # Without time stamps nobody can tell what lies in the window: what is sent is still known.
    of_counts: bool = False

    def over(self, rounds, bare):
        """The Spread over the rounds of one profiler in one case, or None."""
        if not self.of_counts:
            rounds = {number: each for number, each in rounds.items() if not is_counted(each)}
        if self.share:
            return pooled(self.share(each) for each in rounds.values())
        return spread(self.value(each, bare.get(n)) for n, each in rounds.items())


FIGURES = (
    Figure("delivered", "samples delivered / due", "%", share=delivered_share),
    Figure("complete", "complete user stacks, all programs", "%", share=_complete),
    Figure("settled", "of settled ones, all programs", "%", share=_settled),
    Figure("native", "of settled native ones, the load's", "%", share=_settled_native),
    Figure("named", "native frames with names", "%", share=lambda m: named_share(_found(m))),
    Figure("nameable", "of those whose file has the name", "%", share=_nameable),
    Figure("depth", "frames per sample", "", depth),
    Figure("bpf_interrupt", "BPF time per interrupt", "ns", bpf_ns_per_interrupt),
    Figure("bpf_frame", "BPF time per delivered frame", "ns", bpf_ns_per_frame),
    Figure("bpf_walked", "BPF time per walked frame", "ns", bpf_ns_per_walked_frame),
    Figure("user", "agent, user CPU per sample", "us", _cpu_per_sample("user_s")),
    Figure("system", "agent, system CPU per sample", "us", _cpu_per_sample("system_s")),
    Figure("process", "agent, CPU time per process that ran", "us", cpu_per_process),
    Figure("agent", "agent, CPU time / one CPU", "%", agent_cpu),
    Figure("cost", "agent and BPF, CPU time / one CPU", "%", whole_cost),
    Figure("wakeups", "wake-ups of its threads a second", "", wakeups),
    Figure("rss", "peak RSS, each process at its own moment", "MiB", _memory("peak_rss_bytes")),
    Figure("sum_rss", "peak RSS, all at one moment", "MiB", _memory("peak_sum_rss_bytes")),
    Figure("anonymous", "peak anonymous RSS", "MiB", _memory("peak_anonymous_bytes")),
    Figure("rss_start", "RSS at the start of the window", "MiB", _held("start", "rss_bytes")),
    Figure("rss_end", "RSS at its end", "MiB", _held("end", "rss_bytes")),
    Figure("maps_start", "BPF maps at the start of the window", "MiB", _map_bytes("maps_at_start")),
    Figure("maps", "BPF maps at its end", "MiB", bpf_map_bytes),
    Figure("rss_maps", "RSS and BPF maps at its end", "MiB", rss_and_maps),
    Figure("files_start", "descriptors at the start of the window", "", _descriptors("start")),
    Figure("files_end", "descriptors at its end", "", _descriptors("end")),
    Figure("raw", "bytes per sample, raw", "B", raw_bytes, of_counts=True),
    Figure("wire", "bytes per sample, gzip", "B", wire_bytes, of_counts=True),
    Figure("sampled", "start to first sample's time stamp", "s", _start("sampled_s")),
    Figure("start", "start to first sample's arrival (sent every 5 s)", "s", _start("seconds")),
    Figure("start_cpu", "CPU time until that arrival", "s", _start("cpu_s")),
    Figure("slowdown", "slowdown of the load", "%", slowdown),
)


def by_case(measurements):
    """{case: {profiler: {round: measurement}}} of those that succeeded, in their order."""
    found = {}
    for each in measurements:
        if "failed" in each:
            continue
        rounds = found.setdefault(each["case"], {}).setdefault(each["profiler"], {})
        rounds[each["round"]] = each
    return found


def summarize(rounds, bare):
    """{figure: Spread or None} over the rounds of one profiler in one case."""
    return {figure.key: figure.over(rounds, bare) for figure in FIGURES}


def _summaries(rounds):
    """Those that tell when each sample was."""
    return [{} if is_counted(each) else each.get("summary", {}) for each in rounds.values()]


def _add(into, counts):
    for key, count in counts.items():
        if isinstance(count, int):
            into[key] = into.get(key, 0) + count


def sum_programs(rounds):
    """Counts by program over the rounds of one profiler in one case."""
    sums = {}
    for summary in _summaries(rounds):
        programs = summary.get("programs", {}) | {
            KERNEL_THREADS: summary.get("kernel_threads", {})
        }
        for name, counts in programs.items():
            _add(sums.setdefault(name, {}), counts)
    return sums


def sum_through(rounds):
    """Counts by the language runtime that stacks lead through."""
    sums = {}
    for summary in _summaries(rounds):
        for name, counts in summary.get("through", {}).items():
            _add(sums.setdefault(name, {}), counts)
    return sums


def sum_cuts(rounds):
    """{(program, through, last frame): counts} of incomplete stacks, most settled ones first."""
    sums = {}
    for summary in _summaries(rounds):
        # Without a cut stack there is none: Go writes an empty list as null.
        for each in summary.get("cuts") or ():
            key = each["program"], each["through"], each["reason"]
            _add(sums.setdefault(key, {}), each)
    return dict(
        sorted(sums.items(), key=lambda item: (-item[1]["settled"], -item[1]["observations"]))
    )


def unequal_work(measurements):
    """Where a load's checksums differ between measurements: one text for each difference."""
    seen, found = {}, []
    for each in measurements:
        for program, checksum in (each.get("load", {}).get("checksums") or {}).items():
            load = each["case"].split("@")[0]
            first = seen.setdefault((load, program), (checksum, each["key"]))
            if first[0] != checksum:
                found.append(
                    f"{program} came to {checksum} in {each['key']}, to {first[0]} in {first[1]}"
                )
    return found
