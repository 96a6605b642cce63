# SPDX-License-Identifier: Apache-2.0
"""One measurement of a gateway: OTLP in from many clients, OTLP out to the sink."""
import dataclasses
import json
import pathlib
import socket
import subprocess

import children
import gateway_figures
import process_usage
import profilers
import sink
from free_port import free_port

WARM_UP_S = 2
START_BOUND_S = 30


def _pipeline(listen, target, compression):
    """One configuration for both. All that is not said is as each ships it: the queue too."""
    exporter = {"endpoint": target, "compression": compression, "tls": {"insecure": True}}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": listen}}}},
        "exporters": {"otlp_grpc": exporter},
        "service": {
            "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


def command(subject, profcol):
    """How the gateway of this name starts, but for its configuration."""
    if subject == "profcol":
        return [profcol]
    return [profilers.peer("gateway"), "--feature-gates=service.profilesSupport"]


@dataclasses.dataclass(frozen=True)
class Case:
    """What is sent: a file of requests, compressed with gzip on the way in and out, or not."""

    name: str
    payload: pathlib.Path
    compression: str


@dataclasses.dataclass(frozen=True)
class Sender:
    """The peer `send`, with what is the same for all measurements."""

    seconds: int
    clients: int
    window: int

    def send(self, case, to, log, seconds):
        """Send for so long, and wait until all has arrived; what the program printed."""
        options = {
            "to": to,
            "sink-log": log,
            "gzip": "true" if case.compression == "gzip" else "false",
            "for": f"{seconds}s",
            "clients": self.clients,
            "window": self.window,
        }
        flags = [f"--{name}={value}" for name, value in options.items()]
        text = children.output([profilers.peer("send"), *flags, case.payload])
        return json.loads(text)


def _accepts(process, address):
    """Whether somebody listens there; fails when the gateway has ended."""
    if process.poll() is not None:
        raise children.ChildFailed(f"the gateway ended with {process.returncode}; see its log")
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _measure_running(process, sender, case, to, log):
    children.wait_until(lambda: _accepts(process, to), "the gateway listens", START_BOUND_S)
    with process_usage.MemoryWatch(process.pid) as memory:
        # Connections, allocators and the Go runtime's idea of its heap settle first.
        sender.send(case, to, log, WARM_UP_S)
        before = process_usage.Cpu.of(process.pid)
        sent = sender.send(case, to, log, sender.seconds)
        used = process_usage.Cpu.of(process.pid).since(before)
        memory.finish()
    if problem := gateway_figures.lost(sent):
        raise children.ChildFailed(problem)
    return {"sent": sent, "cpu_s": used["total_s"], "cpu": used, **memory.peaks()}


def measure(subject, profcol, sender, case, directory):
    """Samples forwarded and what that took, as a dict; ChildFailed unless all have arrived."""
    directory.mkdir(parents=True)
    with sink.listening(directory, keep=False) as target:
        to = f"127.0.0.1:{free_port()}"
        configuration = directory / "pipeline.yaml"  # JSON is YAML
        pipeline = _pipeline(to, target.endpoint, case.compression)
        configuration.write_text(json.dumps(pipeline, indent=1))
        with (directory / "gateway.log").open("wb") as log:
            process = children.start(
                [*command(subject, profcol), "--config", configuration],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            result = _measure_running(process, sender, case, to, target.log)
        finally:
            status = children.stop(process)
    if status:
        raise children.ChildFailed(f"the gateway ended with {status}; see {log.name}")
    return result
