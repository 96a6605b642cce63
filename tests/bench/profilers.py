# SPDX-License-Identifier: Apache-2.0
"""The profilers that are compared, configured alike in all that they share."""
import json
import pathlib
import subprocess
import sys

import children
import perf_record

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/peers"))

from peer_paths import NoPeer, find_peer

_EXPORTER = "otlp_grpc"


class NotAvailable(Exception):
    """A profiler cannot run here; the text names the way out."""


def peer(name):
    """Path of a peer that `make peers` has built."""
    try:
        return find_peer(name)
    except NoPeer as missing:
        raise NotAvailable(str(missing)) from missing


def version_of(program):
    """What a program says of itself, on one line."""
    result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=300)
    return " ".join(result.stdout.split()) or f"unknown, exit code {result.returncode}"


def _pipeline(receiver, endpoint):
    """A configuration. Intervals, queues and compression are what each profiler ships with."""
    return {
        "receivers": {"profiling": receiver},
        "exporters": {
            _EXPORTER: {"endpoint": endpoint, "compression": "gzip", "tls": {"insecure": True}}
        },
        "service": {
            "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": [_EXPORTER]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


class OtlpProfiler:
    """A profiler that sends OTLP; `command` is all but its configuration, `counts` the options of
    its receiver for counts instead of time stamps, if it has any.
    """

    def __init__(self, name, command, counts=None):
        self.name = name
        self._command = command
        self._counts = counts or {}

    def start(self, directory, rate, endpoint, counted=False):
        receiver = {"samples_per_second": rate} | (self._counts if counted else {})
        configuration = directory / "pipeline.yaml"  # JSON is YAML
        configuration.write_text(json.dumps(_pipeline(receiver, endpoint), indent=1))
        with (directory / f"{self.name}.log").open("wb") as log:
            return children.start(
                [*self._command, "--config", configuration], stdout=log, stderr=log
            )


class Profilers:
    """Those of this machine; `profcol` is the path of the program to measure."""

    def __init__(self, profcol):
        self.profcol_path = profcol.resolve()

    def profcol(self):
        path = self.profcol_path
        if not path.exists():
            raise NotAvailable(f"{path} is not built; run: make build")
        listed = subprocess.run([path, "components"], capture_output=True, text=True, check=True)
        if f"- name: {_EXPORTER}\n" not in listed.stdout:
            raise NotAvailable(f"{path} has no exporter {_EXPORTER}; run: make build")
        return OtlpProfiler("profcol", [path], counts={"timestamps": False})

    def reference(self):
        # It insists on raising RLIMIT_MEMLOCK, which kernels from 5.11 on do not need; where that
        # is not permitted the launcher lets it believe so.
        gate = "--feature-gates=+service.profilesSupport"
        return OtlpProfiler("reference", [peer("memlock_launcher"), peer("reference"), gate])

    def otlp(self, name):
        """The profiler of this name, unless it is perf."""
        return {"profcol": self.profcol, "reference": self.reference}[name]()

    def usable(self, names):
        """Those of the names that can run here. Without perf the others are still compared."""
        found = []
        for name in names:
            try:
                self._check(name)
            except NotAvailable as missing:
                if name != "perf" or len(names) == 1:
                    raise
                print(f"bench: left out: {missing}", file=sys.stderr)
                continue
            found.append(name)
        return found

    def _check(self, name):
        """Raise NotAvailable unless it, and what it is measured with, can run."""
        if name == "perf":
            try:
                perf_record.check()
            except (children.ChildFailed, OSError) as failure:
                raise NotAvailable(
                    f"perf record does not work here ({failure}); its package is among those of"
                    " scripts/setup.sh bench"
                ) from failure
            return
        self.otlp(name)
        peer("sink")
        peer("inspect")

    def version(self, name):
        """Of the profiler of this name."""
        program = {
            "profcol": lambda: self.profcol_path,
            "reference": lambda: peer("reference"),
            "perf": lambda: "perf",
        }[name]()
        return version_of(program)

    def programs(self, names):
        """Paths of what takes part in a run with these profilers, by name."""
        needed = ["sink", "inspect"] if set(names) - {"perf"} else []
        if "reference" in names:
            needed += ["reference", "memlock_launcher"]
        found = {name: peer(name) for name in needed}
        return found | ({"profcol": self.profcol_path} if "profcol" in names else {})
