# SPDX-License-Identifier: Apache-2.0
"""The profilers that are compared, configured alike in all that they share."""
import functools
import hashlib
import json
import pathlib
import shutil
import subprocess

import children

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

_EXPORTER = "otlp_grpc"


class NotAvailable(Exception):
    """A profiler cannot run here; the text names the way out."""


@functools.cache
def peer(name):
    """Path of a peer that `make peers` has built; the same for a whole run."""
    result = subprocess.run(
        [SOURCE / "scripts/peers.sh", "--path", name], capture_output=True, text=True
    )
    if result.returncode:
        raise NotAvailable(result.stderr.strip() or f"no peer {name}; run: make peers")
    return pathlib.Path(result.stdout.strip())


def _pipeline(rate, endpoint):
    """One configuration for both. Intervals, queues and compression are what each ships with."""
    return {
        "receivers": {"profiling": {"samples_per_second": rate}},
        "exporters": {
            _EXPORTER: {"endpoint": endpoint, "compression": "gzip", "tls": {"insecure": True}}
        },
        "service": {
            "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": [_EXPORTER]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


class OtlpProfiler:
    """A profiler that sends OTLP; `command` is all but its configuration."""

    def __init__(self, name, command):
        self.name = name
        self._command = command

    def start(self, directory, rate, endpoint):
        configuration = directory / "pipeline.yaml"  # JSON is YAML
        configuration.write_text(json.dumps(_pipeline(rate, endpoint), indent=1))
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
        return OtlpProfiler("profcol", [path])

    def reference(self):
        # It insists on raising RLIMIT_MEMLOCK, which kernels from 5.11 on do not need; where that
        # is not permitted the launcher lets it believe so.
        gate = "--feature-gates=+service.profilesSupport"
        return OtlpProfiler("reference", [peer("memlock_launcher"), peer("reference"), gate])

    def otlp(self, name):
        """The profiler of this name, unless it is perf."""
        return {"profcol": self.profcol, "reference": self.reference}[name]()

    def check(self, names):
        """Raise NotAvailable unless all of them, and what they are measured with, can run."""
        for name in names:
            if name == "perf":
                perf()
            else:
                self.otlp(name)
                peer("sink")
                peer("inspect")

    def version(self, name):
        """What a profiler says of itself, on one line."""
        program = {
            "profcol": lambda: self.profcol_path,
            "reference": lambda: peer("reference"),
            "perf": perf,
        }[name]()
        result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
        return " ".join(result.stdout.split()) or f"unknown, exit code {result.returncode}"

    def digests(self, names):
        """What tells two builds of one version apart."""
        programs = {"profcol": lambda: self.profcol_path, "reference": lambda: peer("reference")}
        return {
            name: hashlib.sha256(find().read_bytes()).hexdigest()
            for name, find in programs.items()
            if name in names
        }


def perf():
    """The command."""
    if not shutil.which("perf"):
        raise NotAvailable("perf is not installed; run: scripts/setup.sh test")
    return "perf"
