# SPDX-License-Identifier: Apache-2.0
"""Anybody on the machine can connect to what listens: that takes no descriptors from what profiles,
and none from other servers.
"""
import contextlib
import socket
import urllib.request

import pytest

from free_port import free_port
from profcol_run import pipeline
from waiting import BOUND_S, wait_until

LIMIT = 512
CONNECTIONS = 2 * LIMIT


def configuration(directory, otlp, health):
    made = pipeline(directory)
    made["receivers"]["otlp"] = {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{otlp}"}}}
    made["extensions"] = {"health_check": {"endpoint": f"127.0.0.1:{health}"}}
    made["service"]["extensions"] = ["health_check"]
    made["service"]["pipelines"]["profiles"]["receivers"].append("otlp")
    return made


@contextlib.contextmanager
def connections(port, first_bytes):
    """CONNECTIONS of them to `port`, each of which has sent that, and says nothing more."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(CONNECTIONS):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(("127.0.0.1", port))
            made.append(client)
        for client in made:
            with contextlib.suppress(OSError):
                client.send(first_bytes)
        yield made


@pytest.mark.parametrize("who", ["otlp", "health"])
@pytest.mark.parametrize("first_bytes", [b"", b"PRI * HTTP/2.0\r\n"], ids=["silent", "begun"])
def test_any_number_of_connections(start_profcol, burner, tmp_path, who, first_bytes):
    ports = {"otlp": free_port(), "health": free_port()}
    run = start_profcol(
        configuration(tmp_path / "out", **ports),
        prefix=["prlimit", f"--nofile={LIMIT}:{LIMIT}", "--"],
    ).wait_ready()
    with connections(ports[who], first_bytes):
        if who == "otlp":
            refused = "profcol_receiver_refused_connections"
            wait_until(lambda: run.metrics().value(refused), "connections that are refused")
        # Probes come through, and metrics.
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['health']}/") as answer:
            assert answer.status == 200
        # What is started now needs descriptors: its files, and those of a worker.
        burner.wait_burnt(500)
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{ports['health']}/") as answer:
                assert answer.status == 200
    run.stop()
    assert "Too many open files" not in run.log, run.log
    assert "are not sampled" not in run.log


def test_those_who_come_later_are_served(start_profcol, tmp_path):
    ports = {"otlp": free_port(), "health": free_port()}
    run = start_profcol(
        configuration(tmp_path / "out", **ports),
        prefix=["prlimit", f"--nofile={LIMIT}:{LIMIT}", "--"],
    ).wait_ready()
    with connections(ports["otlp"], b""):
        refused = "profcol_receiver_refused_connections"
        wait_until(lambda: run.metrics().value(refused), "connections that are refused")

    def is_served():
        # As long as there is none, those who come are still refused.
        with contextlib.suppress(ConnectionError):
            with socket.create_connection(("127.0.0.1", ports["otlp"]), timeout=BOUND_S) as client:
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                return client.recv(9)  # the server's settings
        return None

    wait_until(is_served, "an answer once there is room again")
    run.stop()
