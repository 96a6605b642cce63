# SPDX-License-Identifier: Apache-2.0
"""The hottest functions of programs of Node.js, as profcol, V8's own profiler (`node --cpu-prof`) and the
reference profiler see them, each in a run of its own:

    /usr/bin/python3 tests/bench/hottest.py --profcol build/release/profcol [--programs tsc,server,pool]

Prints a table of agreement for each program, and what differs. Self time is that of the innermost
function of JavaScript, as V8's own profiler counts it: what it has called in V8 or in the kernel is its
own. Time without any, and in the collector, is left out.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "e2e"), str(HERE.parent / "peers")]

import pprof_file  # noqa: E402
from free_port import free_port  # noqa: E402
from peer_paths import find_peer  # noqa: E402

SECONDS = 20
RATE = 499
MOST = 20
NODE_MODULES = pathlib.Path("/usr/lib/node_modules/npm")
NOT_FUNCTIONS = {"(root)", "(program)", "(idle)", "(garbage collector)"}
READY = "Everything is ready"
COLLECTOR = "v8::internal::Heap::CollectGarbage"


def typescript():
    """Checks the types of all of npm."""
    files = sorted(map(str, NODE_MODULES.rglob("lib/**/*.js")))
    tsc = "/usr/share/nodejs/typescript/lib/tsc.js"
    return [tsc, "--allowJs", "--checkJs", "--noEmit", "--target", "es2020", *files]


PROGRAMS = {
    "tsc": typescript,
    "server": lambda: [HERE / "loads/node_server.js", SECONDS],
    "pool": lambda: [HERE / "loads/node_pool.js", SECONDS],
}


def run_node(command, *options):
    """Its number, when it has ended."""
    child = subprocess.Popen(
        list(map(str, ["node", *options, *command])), stdout=subprocess.DEVNULL
    )
    child.wait()
    return child.pid


class Times:
    """Shares of functions: (name, file, first line) to a weight."""

    def __init__(self):
        self.self_time, self.total_time = collections.Counter(), collections.Counter()
        self.left_out = collections.Counter()

    def add(self, functions, weight):
        """`functions`: of a sample, innermost first."""
        if not functions:
            return
        self.self_time[functions[0]] += weight
        for function in set(functions):
            self.total_time[function] += weight

    def hottest(self, by_total):
        counts = self.total_time if by_total else self.self_time
        whole = self.self_time.total() or 1
        return {what: count / whole for what, count in counts.most_common(MOST)}

    def share(self, what, by_total):
        counts = self.total_time if by_total else self.self_time
        return counts[what] / (self.self_time.total() or 1)


def short(file):
    return file.rpartition("/")[2]


# ---- V8's own profiler


def read_own(directory):
    times = Times()
    for path in directory.glob("*.cpuprofile"):
        profile = json.loads(path.read_text())
        nodes = {node["id"]: node for node in profile["nodes"]}
        parents = {child: node for node in profile["nodes"] for child in node.get("children", ())}
        for number, micros in zip(profile["samples"], profile["timeDeltas"]):
            functions, node = [], nodes[number]
            if node["callFrame"]["functionName"] in NOT_FUNCTIONS:
                times.left_out[node["callFrame"]["functionName"]] += micros
                continue
            while node:
                frame = node["callFrame"]
                name = frame["functionName"]
                # Functions of C++ that the program calls have neither file nor line.
                if name not in NOT_FUNCTIONS and frame["url"]:
                    functions.append((name or "(anonymous)", short(frame["url"])))
                node = parents.get(node["id"])
            times.add(functions, micros)
    return times


def run_own(command, directory):
    run_node(command, "--cpu-prof", f"--cpu-prof-dir={directory}")
    return read_own(directory)


# ---- the others, whose OTLP profcol writes as pprof


_NAMELESS = {"<anonymous>": "(anonymous)"}  # what the reference calls them


def is_function(frame):
    """Of JavaScript, with a file: what V8 has built in is its caller's, as for its own profiler."""
    name = frame.name or ""
    return frame.source not in ("", "<unknown>") and not frame.file.endswith((".so", "/node")) and "::" not in name


def read_pprof(directory, pid):
    times = Times()
    for path in directory.glob("**/*.pb.gz"):
        for sample in pprof_file.read(path).samples:
            if sample.labels.get("pid", pid) != pid:
                continue
            if any(COLLECTOR in (frame.name or "") for frame in sample.frames):
                times.left_out["(garbage collector)"] += sample.count
                continue
            functions = [
                (_NAMELESS.get(frame.name, frame.name), short(frame.source))
                for frame in sample.frames
                if is_function(frame)
            ]
            if not functions:
                times.left_out["(program)"] += sample.count
            times.add(functions, sample.count)
    return times


def write_pipeline(directory, name, receivers, exporters):
    pipeline = {"profiles": {"receivers": list(receivers), "exporters": list(exporters)}}
    path = directory / f"{name}.yaml"
    service = {"pipelines": pipeline, "telemetry": {"metrics": {"level": "none"}}}
    configuration = {"receivers": receivers, "exporters": exporters, "service": service}
    path.write_text(json.dumps(configuration))
    return path


@contextlib.contextmanager
def started(directory, name, *command):
    """It runs meanwhile."""
    path = directory / f"{name}.log"
    with path.open("wb") as log:
        child = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        # The reference may take 20 s to load its programs.
        while READY not in path.read_text(errors="replace"):
            assert child.poll() is None, path.read_text(errors="replace")
            time.sleep(0.2)
        time.sleep(2)
        yield
    finally:
        child.terminate()
        child.wait()


def run_profiler(command, directory, profcol, by_reference):
    """Profiles a run by profcol, or by the reference, of which profcol writes what it sends."""
    exporters = {"pprof": {"directory": str(directory / "out"), "interval": "1h"}}
    receiver = {"samples_per_second": RATE}
    receivers = {"profiling": receiver | {"timestamps": False}}
    endpoint = f"127.0.0.1:{free_port()}"
    if by_reference:
        receivers = {"otlp": {"protocols": {"grpc": {"endpoint": endpoint}}}}
    with contextlib.ExitStack() as running:
        path = write_pipeline(directory, "profcol", receivers, exporters)
        running.enter_context(started(directory, "profcol", profcol, "--config", path))
        if by_reference:
            sender = {"otlp_grpc": {"endpoint": endpoint, "tls": {"insecure": True}}}
            path = write_pipeline(directory, "reference", {"profiling": receiver}, sender)
            line = [find_peer("memlock_launcher"), find_peer("reference")]
            line += ["--feature-gates=+service.profilesSupport", "--config", path]
            running.enter_context(started(directory, "reference", *line))
        pid = run_node(command)
        time.sleep(6)  # the reference sends every 5 s
    return read_pprof(directory / "out", pid)


# ---- tables


def compare(name, found):
    own = found["--cpu-prof"]
    print(f"\n## {name}\n")
    for what, times in found.items():
        left_out = ", ".join(f"{key} {value}" for key, value in times.left_out.items())
        print(f"{what}: {times.self_time.total()} counted; {left_out}")
    for by_total in (False, True):
        print(f"\nby {'total' if by_total else 'self'} time")
        hottest = {what: times.hottest(by_total) for what, times in found.items()}
        for what, functions in hottest.items():
            common = len(functions.keys() & hottest["--cpu-prof"].keys())
            difference = sum(
                abs(found[what].share(one, by_total) - share)
                for one, share in hottest["--cpu-prof"].items()
            )
            print(f"  {what}: {common} of {MOST} in common, {difference:.1%} apart")
        shown = {one for functions in hottest.values() for one in functions}
        for one in sorted(shown, key=lambda one: -own.share(one, by_total)):
            shares = "  ".join(
                f"{times.share(one, by_total):6.1%}{'*' if one in hottest[what] else ' '}"
                for what, times in found.items()
            )
            print(f"    {shares}  {one[0]} {one[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--profcol", type=pathlib.Path, default="build/release/profcol")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    arguments = parser.parse_args()
    for name in arguments.programs.split(","):
        command = PROGRAMS[name]()
        found = {}
        for what in ("profcol", "--cpu-prof", "reference"):
            with tempfile.TemporaryDirectory(prefix="hottest-") as temporary:
                directory = pathlib.Path(temporary)
                if what == "--cpu-prof":
                    found[what] = run_own(command, directory)
                else:
                    found[what] = run_profiler(
                        command, directory, arguments.profcol, what == "reference"
                    )
        compare(name, found)


if __name__ == "__main__":
    main()
