# SPDX-License-Identifier: Apache-2.0
"""One start of a profiler on a machine where many processes run already."""
import contextlib
import dataclasses
import pathlib
import time

import children
import cost_curve
import due
import inspection
import load_run
import measure
import sink
from process_usage import bpf_objects_held

LOAD = "crowd"


@dataclasses.dataclass(frozen=True)
class Start:
    """What all measurements of a run share."""

    seconds: int  # that are looked at, from the start of the profiler
    rate: int
    due_counter: pathlib.Path


def first_stacks(stream, started_unix_s, seconds, pids):
    """Of each process of the load by when it was first seen, in seconds since the start.

    {"program", "seen_s", "complete_s", "samples", "complete"}; None where it was not.
    """
    begin_ns = int(started_unix_s * 1e9)
    listed = inspection.processes(stream, begin_ns, begin_ns + seconds * 10**9)
    by_pid = {each["pid"]: each for each in listed}
    found = []
    for program, numbers in pids.items():
        for pid in numbers:
            each = by_pid.get(str(pid), {})
            seen, complete = each.get("first_unix_nano"), each.get("first_complete_unix_nano")
            found.append(
                {
                    "program": program,
                    "seen_s": (seen - begin_ns) / 1e9 if seen else None,
                    "complete_s": (complete - begin_ns) / 1e9 if complete else None,
                    "samples": each.get("observations", 0),
                    "complete": each.get("complete", 0),
                }
            )
    if listed and not any(each["samples"] for each in found):
        raise children.ChildFailed(
            "the profiler has samples, but of none of the load's processes: are their numbers"
            " those of another PID namespace?"
        )
    return found


def _watch(start, process, log, meter, started):
    """The cost over the time that is looked at, and the profiler's BPF programs."""
    with cost_curve.CostCurve(process.pid, meter, started) as curve:
        time.sleep(max(0, started + start.seconds - time.time()))
        curve.finish()
    if process.poll() is not None:
        raise children.ChildFailed(f"the profiler has ended:\n{log.read_text(errors='replace')}")
    own, _ = bpf_objects_held(process.pid)
    return curve, own.programs


def measure_start(start, profiler, directory):
    """All raw figures; `directory` keeps what they were made from."""
    directory.mkdir(parents=True)
    log = directory / f"{profiler.name}.log"
    with contextlib.ExitStack() as stack:
        meter = stack.enter_context(due.counting(start.due_counter, start.rate))
        # Its processes run until the last batch has arrived.
        running_s = measure.SETTLE_S + start.seconds + measure.FLUSH_BOUND_S
        load = stack.enter_context(load_run.running(LOAD, running_s))
        time.sleep(measure.SETTLE_S)
        sink_ = stack.enter_context(sink.listening(directory))
        before = meter.snapshot()
        started = time.time()
        process = profiler.start(directory, start.rate, sink_.endpoint)
        stack.callback(children.stop, process)
        curve, programs = _watch(start, process, log, meter, started)
        after = curve.snapshots[-1][1]
        measure.wait_flushed(sink_, after["time_unix_ns"])
        if not sink_.first_sample():
            raise children.ChildFailed(
                f"no sample arrived in {start.seconds} s: give more --seconds where the machine is"
                f" busy with other things\n{log.read_text(errors='replace')}"
            )
        if process.poll() is not None or children.stop(process):
            raise children.ChildFailed(f"the profiler failed:\n{log.read_text(errors='replace')}")
        work = load.finish(running_s + 60)
    programs &= due.ids_since(before, after, "programs")
    return {
        "seconds": start.seconds,
        "due": due.difference(before, after),
        "cpu": curve.cpu,
        "bpf": curve.bpf(programs),
        "load": work,
        "processes": first_stacks(sink_.stream, started, start.seconds, work["programs"]),
    }
