#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gateway.py [--seconds S] [--subjects profcol,collector] [--kinds KIND,...] PROFCOL: a gateway with 128 MiB
is attacked in each way of http2_attacker.py from one CPU, while an honest client on another one calls it.
For each: does it live, what does it take, and how long does the honest client wait? As root; needs two
CPUs, Debian's python3-grpcio and the peer `gateway`.
"""
import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import grpc

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / name) for name in ("tests", "tests/peers")]

from free_port import free_port  # noqa: E402
from groups import Limits  # noqa: E402
from http2_attacker import KINDS  # noqa: E402
from peer_paths import find_peer  # noqa: E402
from waiting import wait_until  # noqa: E402

MEMORY_BYTES = 128 << 20
PAUSE_S = 0.02  # between two calls of the honest client
PATIENCE_S = 10  # of one of its calls
ATTACKER = pathlib.Path(__file__).parent / "http2_attacker.py"
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
REQUEST = SOURCE / "tests/golden/otlp_conformance/00.bin"
QUIET = "none"  # no attack


def _configuration(address, exporter):
    pipe = {"receivers": ["otlp"], "exporters": [exporter]}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": address}}}},
        "exporters": {exporter: {}},
        "service": {
            "pipelines": {"profiles": pipe},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


def _command(subject, profcol):
    if subject == "profcol":
        return [profcol], "nop"
    return [find_peer("gateway"), "--feature-gates=service.profilesSupport"], "debug"


def _accepts(address):
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host, int(port)), timeout=1).close()
        return True
    return False


class HonestClient:
    """Calls without pause, every fourth time on a connection of its own."""

    def __init__(self, address):
        self._address = address
        self._request = REQUEST.read_bytes()
        self._channel = self._connect()
        self.waits_s, self.failed = [], 0

    def _connect(self):
        options = [("grpc.use_local_subchannel_pool", 1)]
        return grpc.insecure_channel(self._address, options)

    def _call_on(self, channel):
        begun = time.monotonic()
        try:
            channel.unary_unary(METHOD)(self._request, timeout=PATIENCE_S)
            self.waits_s.append(time.monotonic() - begun)
        except grpc.RpcError:
            self.failed += 1

    def run(self, seconds):
        end = time.monotonic() + seconds
        number = 0
        while time.monotonic() < end:
            if number % 4:
                self._call_on(self._channel)
            else:
                with self._connect() as channel:
                    self._call_on(channel)
            number += 1
            time.sleep(PAUSE_S)

    def figures(self):
        waits = sorted(self.waits_s) or [float("nan")]
        return {
            "calls": len(self.waits_s),
            "failed": self.failed,
            "median_ms": 1000 * statistics.median(waits),
            "p99_ms": 1000 * waits[int(0.99 * (len(waits) - 1))],
            "most_ms": 1000 * waits[-1],
        }


def measure(subject, kind, arguments, directory):
    address = f"127.0.0.1:{free_port()}"
    limits = Limits(f"profcol-gateway-{os.getpid()}", MEMORY_BYTES)
    command, exporter = _command(subject, arguments.program)
    configuration = directory / "pipeline.yaml"
    configuration.write_text(json.dumps(_configuration(address, exporter)))
    with (directory / "log").open("wb") as log:
        gateway = subprocess.Popen(
            ["taskset", "-c", "0,1", *limits.prefix(), *command, "--config", configuration],
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: _accepts(address) or gateway.poll() is not None, "the gateway to listen")
        attacker = None
        if kind != QUIET:
            attacker = subprocess.Popen(
                ["taskset", "-c", "0", sys.executable, ATTACKER, kind, address]
                + [str(arguments.seconds + 2)],
                stdout=subprocess.PIPE,
            )
            time.sleep(1)
        used_s, client = limits.cpu_s(), HonestClient(address)
        client.run(arguments.seconds)
        used_s = limits.cpu_s() - used_s
        result = {"subject": subject, "kind": kind, **client.figures()}
        result["lives"] = gateway.poll() is None and not limits.kills()
        result["cpu_percent"] = 100 * used_s / arguments.seconds
        result["memory_mib"] = limits.high_bytes() / (1 << 20)
        if attacker:
            result["connections"] = int(attacker.communicate()[0] or 0)
        return result
    finally:
        gateway.kill()
        gateway.wait()
        limits.remove()


HEAD = """| attack | gateway | lives | memory high, MiB | CPU, % | calls answered, failed | median, ms | 99 %, ms | longest, ms |
|---|---|---|---|---|---|---|---|---|"""


def _row(result):
    cells = [
        result["kind"],
        result["subject"],
        "yes" if result["lives"] else "**no**",
        f"{result['memory_mib']:.0f}",
        f"{result['cpu_percent']:.0f}",
        f"{result['calls']}, {result['failed']}",
        *(f"{result[name]:.1f}" for name in ("median_ms", "p99_ms", "most_ms")),
    ]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--subjects", default="profcol,collector")
    parser.add_argument("--kinds", default=",".join([QUIET, *KINDS]))
    parser.add_argument("program", type=pathlib.Path)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {1})
    print(HEAD, flush=True)
    for kind in arguments.kinds.split(","):
        for subject in arguments.subjects.split(","):
            with tempfile.TemporaryDirectory() as directory:
                result = measure(subject, kind, arguments, pathlib.Path(directory))
            print(_row(result), flush=True)


if __name__ == "__main__":
    main()
