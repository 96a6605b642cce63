# SPDX-License-Identifier: Apache-2.0
"""One run of the program, from its configuration to its exit line."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess

import pprof_file
import prometheus_text
from free_port import free_port
from proc_files import proc_files
from waiting import wait_until

READY = "Everything is ready. Begin running and processing data."

# Exporters that wait for nobody: with these alone the end may take as long as a busy machine needs.
_LOCAL = {"pprof", "debug", "web"}

_BALANCE = re.compile(
    r"taken=(\d+) exported=(\d+) filtered=(\d+) lost=(\d+)(?: stored=(\d+))?"
    r"( unaccounted=-?\d+)?(?: \(([^)]*)\))?"
)
_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB$", re.MULTILINE)
_SANITIZER = re.compile(
    r"AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|runtime error:"
)


def pipeline(directory=None, receiver=None, exporters=None, pipelines=None):
    """A configuration: the profiler into pprof files in `directory`, unless told otherwise.

    The defaults suit tests: batches are short, and one file holds the whole run.
    """
    receiver = {"samples_per_second": 99, "reporter_interval": "500ms"} | (receiver or {})
    exporters = exporters or {"pprof": {"directory": str(directory), "interval": "1h"}}
    pipelines = pipelines or {
        "profiles": {"receivers": ["profiling"], "exporters": list(exporters)}
    }
    service = {"pipelines": pipelines}
    if all(name.partition("/")[0] in _LOCAL for name in exporters):
        service["shutdown_timeout"] = "1m"
    return {
        "receivers": {"profiling": receiver},
        "exporters": exporters,
        "service": service,
    }


def metrics_at(port, **options):
    """What stands at service::telemetry::metrics for a Prometheus reader at `port`."""
    return {"readers": [prometheus_text.reader(port, **options)]}


def with_metrics(configuration, port):
    """`configuration` with its metrics at `port` of 127.0.0.1, unless it says where."""
    service = dict(configuration.get("service") or {})
    telemetry = dict(service.get("telemetry") or {})
    telemetry.setdefault("metrics", metrics_at(port))
    return configuration | {"service": service | {"telemetry": telemetry}}


def with_patience(configuration):
    """`configuration` with time to write what it holds at the end, unless it says how much: on a busy
    machine the usual 5 s do not do for that.
    """
    service = {"shutdown_timeout": "40s"} | configuration["service"]
    return configuration | {"service": service}


def metrics_source(configuration, port):
    """The same of a text, which stays as it is: the arguments of a source to be merged with it."""
    if "metrics:" in configuration:
        return []
    source = {"service": {"telemetry": {"metrics": metrics_at(port)}}}
    return ["--config", f"yaml:{json.dumps(source)}"]


# The causes for which a receiver drops samples before any exporter is given them: the CPU was idle,
# the configuration selects other processes, or the machine was too busy for the receiver.
_AT_THE_RECEIVER = {"idle", "select", "ring_buffer_full", "waiting_full", "undecidable"}

# Those of them that a busy machine alone brings about.
_TOO_BUSY = {"ring_buffer_full", "waiting_full"}


@dataclasses.dataclass(frozen=True)
class Balance:
    """What the exit line says about one exporter."""

    taken: int
    exported: int
    filtered: int
    lost: int
    causes: dict  # of what was filtered or lost, by name
    stored: int = 0  # in a queue on disk, for the next run

    @property
    def dropped(self):
        """{cause: samples} of what this exporter was given, or was to be, and did not pass on."""
        return {
            cause: count for cause, count in self.causes.items() if cause not in _AT_THE_RECEIVER
        }

    @property
    def lost_on_the_way(self):
        """What was lost but for those samples that a starved receiver could not take."""
        return self.lost - sum(self.causes.get(cause, 0) for cause in _TOO_BUSY)

    def check(self):
        """taken = exported + filtered + lost + stored, and the causes add up."""
        assert self.taken == self.exported + self.filtered + self.lost + self.stored, self
        assert sum(self.causes.values()) == self.filtered + self.lost, self


def parse_balances(line):
    """The balances of an exit line, one for each exporter."""
    balances = []
    for *counts, unaccounted, causes in _BALANCE.findall(line):
        assert not unaccounted, line
        pairs = (cause.split("=") for cause in causes.split())
        causes = {name: int(count) for name, count in pairs}
        taken, exported, filtered, lost, stored = (int(count or 0) for count in counts)
        balances.append(Balance(taken, exported, filtered, lost, causes, stored))
    return balances


class Profcol:
    """A run of the program under `directory`; kill() ends it whatever state it is in."""

    def __init__(self, program, directory, configuration, prefix=(), arguments=()):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.configuration = self.directory / "pipeline.yaml"
        self.metrics_port = free_port()
        sources = []
        if isinstance(configuration, str):
            sources = metrics_source(configuration, self.metrics_port)
        else:
            configuration = with_metrics(configuration, self.metrics_port)
            configuration = json.dumps(configuration, indent=1)  # JSON is YAML
        self.configuration.write_text(configuration)
        self.log_path = self.directory / "log"
        environment = os.environ | {"ASAN_OPTIONS": "exitcode=99:detect_leaks=1"}
        with self.log_path.open("wb") as log, (self.directory / "out").open("wb") as out:
            self.process = subprocess.Popen(
                [
                    *map(str, prefix),
                    str(program),
                    "--config",
                    str(self.configuration),
                    *sources,
                    *map(str, arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env=environment,
            )

    @property
    def pid(self):
        return self.process.pid

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def out(self):
        return (self.directory / "out").read_text(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def wait_ready(self):
        self.wait_logged(READY)
        return self

    def wait_logged(self, text):
        """Until `text` is in the log."""

        def seen():
            assert text in self.log or self.is_running(), f"it ended early:\n{self.log}"
            return text in self.log

        wait_until(seen, f"'{text}' in the log of {self.directory}")

    def wait_exit(self):
        """The exit code of a run that ends by itself or has been told to."""
        try:
            wait_until(lambda: not self.is_running(), f"end of the run {self.directory}")
        except TimeoutError as error:
            where = "\n".join(self.threads())
            raise TimeoutError(f"{error}; its threads:\n{where}\nits log:\n{self.log}") from None
        assert not _SANITIZER.search(self.log), self.log
        return self.process.returncode

    def threads(self):
        """A line for each thread: what it is called, its state, and where it waits."""
        lines = []
        for task in sorted(pathlib.Path(f"/proc/{self.pid}/task").glob("*")):
            try:
                state = re.search(r"^State:\s*(.*)$", (task / "status").read_text(), re.M)[1]
                name = (task / "comm").read_text().strip()
                lines.append(f"{task.name} {name}: {state}, {(task / 'wchan').read_text()}")
            except OSError as error:  # it has just ended
                lines.append(f"{task.name}: {error}")
        return lines

    def stop(self, number=signal.SIGTERM):
        """End it as a user would; its books must be in order."""
        self.process.send_signal(number)
        status = self.wait_exit()
        assert status == 0, f"exit code {status}:\n{self.log}"
        for balance in self.balances():
            balance.check()
        return self

    def kill(self):
        if self.is_running():
            self.process.kill()
        self.process.wait()

    def balances(self):
        lines = [line for line in self.log.splitlines() if "samples: " in line]
        assert len(lines) == 1, f"no single exit line:\n{self.log}"
        balances = parse_balances(lines[0])
        assert balances, lines[0]
        return balances

    def balances_by_exporter(self):
        """The balances of a run with several exporters."""
        (line,) = (line for line in self.log.splitlines() if "samples: " in line)
        parts = line.partition("samples: ")[2].split("; ")
        return {part.partition(": taken=")[0]: parse_balances(part)[0] for part in parts}

    def balance(self):
        """What the exit line says, of a run with one exporter."""
        (balance,) = self.balances()
        return balance

    def metrics(self):
        """What it serves to Prometheus now, unless its configuration says where itself."""
        return prometheus_text.Metrics(prometheus_text.scrape(self.metrics_port))

    def records(self, identity):
        """[(level, message)] of the lines that the component `identity` has logged."""
        lines = (line.split("\t") for line in self.log.splitlines())
        field = f'"otelcol.component.id": "{identity}"'
        return [
            (line[1], line[3]) for line in lines if len(line) == 5 and field in line[4]
        ]

    def view(self, path):
        """`path` as the run sees it, which may be in another mount namespace."""
        return pathlib.Path(f"/proc/{self.pid}/root{path}")

    def children(self):
        """Process ids of its living children."""
        return [pid for pid, parent in processes() if parent == self.pid]

    def memory_bytes(self):
        """Of the program and its workers: what is theirs alone."""
        kib = 0
        for pid in (self.pid, *self.children()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                kib += sum(map(int, _ANONYMOUS.findall(status)))
        return 1024 * kib


def processes():
    """(pid, parent) of every process that has not ended."""
    for pid, content in proc_files("stat"):
        state, parent = content.rpartition(b")")[2].split()[:2]
        if state not in (b"Z", b"X"):
            yield pid, int(parent)


def is_alive(pid):
    return any(pid == other for other, _ in processes())


def profile_paths(directory):
    """The finished files in `directory`, oldest first."""
    return sorted(pathlib.Path(directory).glob("profcol-*.pb.gz"))


def read_samples(directory):
    """Those of all its finished files: a slow machine fills more than one."""
    for path in profile_paths(directory):
        yield from pprof_file.read(path).samples


def read_profile(directory):
    """The one file in `directory`."""
    paths = profile_paths(directory)
    assert len(paths) == 1, f"not one file: {paths}"
    return pprof_file.read(paths[0])
