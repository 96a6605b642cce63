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
from process_usage import Cpu, MemoryWatch, bpf_objects_of_others
from profilers import Profilers

SETTLE_S = 2
# The load outlives the window, so that its own end is not measured.
LOAD_MARGIN_S = 1
FIRST_SAMPLE_BOUND_S = 60
# Both profilers send every 5 s, a fifth more or less, and may look for names for 1 s before.
FLUSH_BOUND_S = 8
NAMING_S = 1.5
_STEP_S = 0.05


@dataclasses.dataclass(frozen=True)
class Bench:
    """What all measurements of a run share."""

    seconds: int
    cache: pathlib.Path  # of the loads
    due_counter: pathlib.Path
    profilers: Profilers


class Window:
    """The readings at both ends."""

    def __init__(self, meter, pid):
        self._meter = meter
        self._pid = pid
        self.before = self._cpu_before = None
        self.after = self.cpu = None

    def open(self):
        self._cpu_before = Cpu.of(self._pid) if self._pid else None
        self.before = self._meter.snapshot()

    def close(self):
        self.after = self._meter.snapshot()
        self.cpu = Cpu.of(self._pid).since(self._cpu_before) if self._pid else None

    def span(self, clock):
        """Both ends on the clock `unix` or `monotonic`, in nanoseconds."""
        return [end[f"time_{clock}_ns"] for end in (self.before, self.after)]


def _run_window(bench, step, window):
    """Run the load and hold the window open over it; the load's account of its work."""
    seconds = SETTLE_S + bench.seconds + LOAD_MARGIN_S
    with load_run.running(step.case.load, seconds, bench.cache) as load:
        time.sleep(SETTLE_S)
        window.open()
        time.sleep(bench.seconds)
        window.close()
        return load.finish(LOAD_MARGIN_S + 60)


def _bpf(start, window, pid):
    """The profiler's own programs over the window and its maps at the end of it.

    Its own are those that came after it was started and that nobody else holds.
    """
    others = bpf_objects_of_others(pid)
    programs = due.ids_since(start, window.after, "programs") - others[0]
    maps = due.ids_since(start, window.after, "maps") - others[1]
    return {
        "programs": due.programs_between(window.before, window.after, programs),
        "maps": [each for each in window.after["maps"] if each["id"] in maps],
    }


@contextlib.contextmanager
def _something_to_sample():
    """A process that uses what CPU time nobody else wants, so that a first sample comes soon."""
    with children.running(["nice", "-n", "19", "sh", "-c", "while :; do :; done"]):
        yield


def _wait_first_sample(process, log, sink_, started):
    """Seconds and CPU time from the start of the profiler to the first sample delivered."""

    def arrived():
        if process.poll() is not None:
            raise children.ChildFailed(f"the profiler has ended:\n{log.read_text()}")
        return sink_.first_sample()

    with _something_to_sample():
        first = children.wait_until(
            arrived, "first sample of the profiler", FIRST_SAMPLE_BOUND_S, _STEP_S
        )
        cpu = Cpu.of(process.pid)
    return {"seconds": first["time_unix_nano"] / 1e9 - started, "cpu_s": cpu.total_s}


def _wait_flushed(sink_, end_unix_ns):
    """Until the batch that was open when the window closed has arrived, if there was any."""
    closed_ns = end_unix_ns + int(NAMING_S * 1e9)

    def flushed():
        return any(each["time_unix_nano"] > closed_ns for each in sink_.requests())

    # An idle machine has nothing to send.
    with contextlib.suppress(children.ChildFailed):
        children.wait_until(flushed, "the last batch", FLUSH_BOUND_S, _STEP_S)


def _measure_otlp(bench, step, directory, meter, profiler):
    start = meter.snapshot()
    with contextlib.ExitStack() as stack:
        sink_ = stack.enter_context(sink.listening(directory))
        started = time.time()
        process = profiler.start(directory, step.case.rate, sink_.endpoint)
        stack.callback(children.stop, process)
        log = directory / f"{profiler.name}.log"
        memory = stack.enter_context(MemoryWatch(process.pid))
        first = _wait_first_sample(process, log, sink_, started)
        window = Window(meter, process.pid)
        load = _run_window(bench, step, window)
        memory.look()
        bpf = _bpf(start, window, process.pid)
        _wait_flushed(sink_, window.span("unix")[1])
        if children.stop(process):
            raise children.ChildFailed(f"the profiler failed:\n{log.read_text()}")
        requests = sink_.requests()
    return _account(window, load) | {
        "start": first,
        "memory": memory.peaks(),
        "bpf": bpf,
        "wire": sink.wire(requests, window.span("unix")[0]),
        "summary": inspection.summary(sink_.stream, *window.span("unix")),
    }


def _measure_perf(bench, step, directory, meter):
    with contextlib.ExitStack() as stack:
        process = perf_record.start(directory, step.case.rate)
        stack.callback(children.stop, process)
        memory = stack.enter_context(MemoryWatch(process.pid))
        perf_record.wait_started(directory, process)
        window = Window(meter, process.pid)
        load = _run_window(bench, step, window)
        memory.look()
        children.stop(process, signal.SIGINT)
    account = _account(window, load) | {
        "memory": memory.peaks(),
        "perf": perf_record.summary(directory, *window.span("monotonic")),
    }
    (directory / "perf.data").unlink()
    return account


def _account(window, load):
    """What every measurement has."""
    span = window.span("monotonic")
    return {
        "seconds": (span[1] - span[0]) / 1e9,
        "due": due.difference(window.before, window.after),
        "cpu": window.cpu,
        "load": load,
    }


def measure(bench, step, directory):
    """The measurement of a step, all raw figures; `directory` keeps what it was made from."""
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.iterdir():
        stale.unlink()
    with due.counting(bench.due_counter, step.case.rate) as meter:
        if step.profiler == plan.BARE:
            window = Window(meter, None)
            load = _run_window(bench, step, window)
            return _account(window, load)
        if step.profiler == "perf":
            return _measure_perf(bench, step, directory, meter)
        return _measure_otlp(bench, step, directory, meter, bench.profilers.otlp(step.profiler))
