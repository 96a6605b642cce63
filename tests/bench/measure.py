# SPDX-License-Identifier: Apache-2.0
"""One measurement: a load, a profiler or none, and every meter around one window of time."""
import contextlib
import dataclasses
import pathlib
import signal
import time

import children
import due
import inspection
import load_run
import perf_record
import plan
import sink
import thread_usage
from process_usage import Cpu, MemoryWatch, bpf_objects_held, held_now
from profilers import Profilers

SETTLE_S = 2
# The load outlives the window, so that its own end is not measured.
LOAD_MARGIN_S = 1
FIRST_SAMPLE_BOUND_S = 60
BPF_PROG_TYPE_PERF_EVENT = 7  # linux/bpf.h
# Both profilers send every 5 s, a fifth more or less, and may look for names for 1 s before.
FLUSH_BOUND_S = 8
NAMING_S = 1.5
_STEP_S = 0.05


@dataclasses.dataclass(frozen=True)
class Bench:
    """What all measurements of a run share."""

    due_counter: pathlib.Path
    profilers: Profilers


class Window:
    """The readings at both ends; `process` is the profiler, or None."""

    def __init__(self, meter, process):
        self._meter = meter
        self._process = process
        self._held = self._cpu_before = self._threads_before = None
        self.before = self.after = self.cpu = self.threads = None
        self.ends = {}  # what the profiler held at the "start" of the window, and at its "end"

    def open(self):
        if self._process:
            self._held = bpf_objects_held(self._process.pid)
            self.ends["start"] = held_now(self._process.pid)
            self._threads_before = thread_usage.uses(self._process.pid)
            self._cpu_before = Cpu.of(self._process.pid)
        self.before = self._meter.snapshot()

    def close(self):
        self.after = self._meter.snapshot()
        if not self._process:
            return
        self.cpu = Cpu.of(self._process.pid).since(self._cpu_before)
        after = thread_usage.uses(self._process.pid)
        self.threads = thread_usage.between(self._threads_before, after)
        self.ends["end"] = held_now(self._process.pid)
        if self._process.poll() is not None:
            raise children.ChildFailed("the profiler ended before the measurement did")

    def bpf(self, start):
        """The profiler's programs over the window, and its maps at both ends of it.

        Of what came up since the snapshot `start`: the programs that it holds open, and the maps
        that nobody else does, for it need not hold the inner ones of a map of maps.
        """
        own, others = bpf_objects_held(self._process.pid)
        own_before, others_before = self._held
        programs = own.programs | own_before.programs
        foreign = others.programs | others_before.programs
        fresh = due.ids_since(start, self.after, "programs")
        for each in self.after["programs"]:
            strange = each["id"] in fresh and each["id"] not in programs | foreign
            # Whose maps these were cannot be told any more.
            if strange and each["type"] == BPF_PROG_TYPE_PERF_EVENT:
                raise children.ChildFailed(
                    f"another profiler's BPF program {each['name']} ended as the window closed;"
                    " measure again when none runs"
                )
        foreign_maps = others.maps | others_before.maps

        def own_maps(end):
            return due.ids_since(start, end, "maps") - foreign_maps

        def maps(end):
            own_ids = own_maps(end)
            return [each for each in end["maps"] if each["id"] in own_ids]

        return {
            "programs": due.programs_between(self.before, self.after, programs & fresh),
            "maps": maps(self.after),
            "maps_at_start": maps(self.before),
            "counters": due.counters_between(self.before, self.after, own_maps(self.after)),
        }

    def span(self, clock):
        """Both ends on the clock `unix` or `monotonic`, in nanoseconds."""
        return [end[f"time_{clock}_ns"] for end in (self.before, self.after)]


def _run_window(bench, step, window):
    """Run the load and hold the window open over it; the load's account of its work."""
    seconds = SETTLE_S + step.case.seconds + LOAD_MARGIN_S
    with load_run.running(step.case.load, seconds) as load:
        time.sleep(SETTLE_S)
        window.open()
        time.sleep(step.case.seconds)
        window.close()
        return load.finish(LOAD_MARGIN_S + 60)


@contextlib.contextmanager
def _something_to_sample():
    """A process that uses what CPU time nobody else wants, so that a first sample comes soon."""
    with children.running(["nice", "-n", "19", "sh", "-c", "while :; do :; done"]):
        yield


def _wait_first_sample(process, log, sink_, started):
    """What passed from the start of the profiler: to the time stamp of the first sample, and to
    its arrival."""

    def arrived():
        if process.poll() is not None:
            raise children.ChildFailed(f"the profiler has ended:\n{log.read_text()}")
        return sink_.first_sample()

    with _something_to_sample():
        first = children.wait_until(
            arrived, "first sample of the profiler", FIRST_SAMPLE_BOUND_S, _STEP_S
        )
        cpu = Cpu.of(process.pid)
    return {
        "sampled_s": first["first_unix_nano"] / 1e9 - started,
        "seconds": first["time_unix_nano"] / 1e9 - started,
        "cpu_s": cpu.total_s,
    }


def wait_flushed(sink_, end_unix_ns):
    """Until the batch that was open when the window closed has arrived, if there was any."""
    closed_ns = end_unix_ns + int(NAMING_S * 1e9)

    def flushed():
        return any(each["time_unix_nano"] > closed_ns for each in sink_.requests())

    # An idle machine has nothing to send.
    with contextlib.suppress(TimeoutError):
        children.wait_until(flushed, "the last batch", FLUSH_BOUND_S, _STEP_S)


def _measure_otlp(bench, step, directory, meter, profiler):
    start = meter.snapshot()
    with contextlib.ExitStack() as stack:
        sink_ = stack.enter_context(sink.listening(directory))
        started = time.time()
        process = profiler.start(
            directory, step.case.rate, sink_.endpoint, step.case.counted
        )
        stack.callback(children.stop, process)
        log = directory / f"{profiler.name}.log"
        with MemoryWatch(process.pid) as memory:
            first = _wait_first_sample(process, log, sink_, started)
            window = Window(meter, process)
            load = _run_window(bench, step, window)
            memory.finish()
        bpf = window.bpf(start)
        wait_flushed(sink_, window.span("unix")[1])
        if process.poll() is not None or children.stop(process):
            raise children.ChildFailed(f"the profiler failed:\n{log.read_text(errors='replace')}")
        requests = sink_.requests()
    return _account(window, load) | {
        "start": first,
        "memory": memory.peaks(),
        "bpf": bpf,
        "wire": sink.wire(requests, *window.span("unix")),
        "summary": inspection.summary(sink_.stream, *window.span("unix")),
    }


def _measure_perf(bench, step, directory, meter):
    with contextlib.ExitStack() as stack:
        process = perf_record.start(directory, step.case.rate)
        stack.callback(children.stop, process)
        with MemoryWatch(process.pid) as memory:
            perf_record.wait_started(directory, process)
            window = Window(meter, process)
            load = _run_window(bench, step, window)
            memory.finish()
        perf_record.stop(directory, process)
    account = _account(window, load) | {
        "memory": memory.peaks(),
        "perf": perf_record.summary(directory, *window.span("monotonic")),
    }
    (directory / "perf.data").unlink()
    return account


def _measure_bare(bench, step, meter):
    window = Window(meter, None)
    # It costs what the watch over a profiler costs, so that the slowdown is the profiler's alone.
    with MemoryWatch(meter.pid):
        load = _run_window(bench, step, window)
    return _account(window, load)


def _account(window, load):
    """What every measurement has."""
    span = window.span("monotonic")
    return {
        "seconds": (span[1] - span[0]) / 1e9,
        "due": due.difference(window.before, window.after),
        "cpu": window.cpu,
        "wakeups": window.threads
        and {name: use.sleeps for name, use in sorted(window.threads.items())},
        "threads_cpu_s": window.threads
        and {name: use.cpu_ns / 1e9 for name, use in sorted(window.threads.items())},
        "ends": window.ends,
        "load": load,
    }


def measure(bench, step, directory):
    """The measurement of a step, all raw figures; `directory` keeps what it was made from."""
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.iterdir():
        stale.unlink()
    with due.counting(bench.due_counter, step.case.rate) as meter:
        if step.profiler == plan.BARE:
            return _measure_bare(bench, step, meter)
        if step.profiler == "perf":
            return _measure_perf(bench, step, directory, meter)
        return _measure_otlp(bench, step, directory, meter, bench.profilers.otlp(step.profiler))
