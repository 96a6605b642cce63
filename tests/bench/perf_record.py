# SPDX-License-Identifier: Apache-2.0
"""`perf record -g`, the profiler that everybody has: frame pointers, raw addresses in a file."""
import re
import signal
import tempfile

import children

_HEAD = re.compile(r"^\s*(-?\d+)\s+(\d+)\.(\d{9}):")
_FRAME = re.compile(r"^\t\s*[0-9a-f]+ (.+?) \((.*)\)$")


# perf passes on the interrupt that ends a recording, as the signal or as a shell would say it.
_INTERRUPTED = (0, -signal.SIGINT, 128 + signal.SIGINT)


def _command(path, rate):
    command = ["perf", "record", "-e", "cpu-clock", "-F", rate, "-a", "-g"]
    return [*command, "-k", "CLOCK_MONOTONIC", "-o", path]


def check():
    """Raise ChildFailed or OSError unless perf is installed and may record this machine."""
    with tempfile.TemporaryDirectory() as directory:
        children.output([*_command(f"{directory}/perf.data", 1), "true"], bound_s=60)


def start(directory, rate):
    command = _command(directory / "perf.data", rate)
    with (directory / "perf.log").open("wb") as log:
        return children.start(command, stdout=log, stderr=log)


def _log(directory):
    return (directory / "perf.log").read_text(errors="replace")


def stop(directory, process):
    """End the recording; ChildFailed when it is not whole."""
    status = children.stop(process, signal.SIGINT)
    if status not in _INTERRUPTED:
        raise children.ChildFailed(f"perf ended with {status}:\n{_log(directory)}")


def wait_started(directory, process):
    """Until it records: it writes the head of the file, then waits for events."""
    path = directory / "perf.data"

    def started():
        if process.poll() is not None:
            raise children.ChildFailed(f"perf has ended:\n{_log(directory)}")
        return path.exists() and path.stat().st_size

    children.wait_until(started, "start of perf record", 30)


def parse_script(text, from_monotonic_ns, to_monotonic_ns):
    """Counts over the samples of busy CPUs within this time, from what `perf script` prints.

    `recorded` are all samples, of whatever time and CPU.
    """
    keys = ("recorded", "observations", "frames", "native_frames", "native_frames_named")
    found = dict.fromkeys(keys, 0)
    counted = False
    for line in text.splitlines():
        if match := _HEAD.match(line):
            time_ns = int(match[2]) * 10**9 + int(match[3])
            counted = match[1] != "0" and from_monotonic_ns <= time_ns <= to_monotonic_ns
            found["recorded"] += 1
            found["observations"] += counted
        elif counted and (match := _FRAME.match(line)):
            symbol, file = match.groups()
            found["frames"] += 1
            # Not: the kernel, code without a file, and where a chain ran into data.
            if file.startswith("/") and not file.startswith("//"):
                found["native_frames"] += 1
                found["native_frames_named"] += symbol != "[unknown]"
    return found


def summary(directory, from_monotonic_ns, to_monotonic_ns):
    """As parse_script, and the size of the whole recording."""
    path = directory / "perf.data"
    command = ["perf", "script", "-i", path, "--ns", "--no-inline"]
    command += ["-F", "pid,time,ip,sym,dso"]
    text = children.output(command)
    found = parse_script(text, from_monotonic_ns, to_monotonic_ns)
    return found | {"file_bytes": path.stat().st_size}
