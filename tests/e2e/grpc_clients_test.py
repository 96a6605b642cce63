# SPDX-License-Identifier: Apache-2.0
"""Python's and Java's gRPC, other implementations than profcol's exporter and the Collector have, call the
receiver (tests/clients).
"""
import os
import pathlib
import subprocess
import sys

import pytest

from certificates import Authority
from free_port import free_port

CALLS = 60
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
REQUEST, SAMPLES = "tests/golden/otlp_conformance/00.bin", 2  # it keeps all rules
JAVA = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
JARS = [
    *("grpc-api", "grpc-context", "grpc-core", "grpc-netty", "grpc-stub", "guava"),
    *("failureaccess", "opencensus-api", "perfmark-api", "perfmark-impl"),
    *("netty-buffer", "netty-codec", "netty-codec-http", "netty-codec-http2", "netty-codec-socks"),
    *("netty-common", "netty-handler", "netty-handler-proxy", "netty-resolver", "netty-transport"),
]
CLASS_PATH = [f"/usr/share/java/{name}.jar" for name in JARS]


def _need(is_there, what):
    if not is_there:
        text = f"no {what}; run: scripts/setup.sh test"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(text)


@pytest.fixture(scope="module")
def java_client(source, tmp_path_factory):
    _need((JAVA / "javac").exists() and os.path.exists(CLASS_PATH[0]), "gRPC for Java")
    directory = tmp_path_factory.mktemp("client")
    path = ":".join([str(directory), *CLASS_PATH])
    file = source / "tests/clients/GrpcClient.java"
    subprocess.run([JAVA / "javac", "-cp", path, "-d", directory, file], check=True, timeout=300)
    return [JAVA / "java", "-Xmx256m", "-cp", path, "GrpcClient"]


@pytest.fixture(scope="module")
def python_client(source):
    is_there = not subprocess.run([sys.executable, "-c", "import grpc"], capture_output=True).returncode
    _need(is_there, "gRPC for Python")
    return [sys.executable, source / "tests/clients/grpc_client.py"]


class Client:
    """A program that calls a server: `command`."""

    def __init__(self, command, request):
        self._command, self._request = command, request

    def call(self, address, method=METHOD, file=None, compression="none", ca=()):
        """How often each code was the answer."""
        arguments = [address, method, file or self._request, str(CALLS), compression, *ca]
        done = subprocess.run(
            [*self._command, *arguments], stdout=subprocess.PIPE, timeout=300, check=True
        )
        words = done.stdout.decode().split()
        return dict(zip(words[::2], map(int, words[1::2])))


@pytest.fixture(params=["java", "python"])
def client(request, source):
    return Client(request.getfixturevalue(f"{request.param}_client"), source / REQUEST)


@pytest.fixture
def receiver(start_profcol):
    """receiver(**options): a profcol that takes OTLP over gRPC, and its address."""

    def start(**options):
        address = f"localhost:{free_port()}"
        grpc = {"endpoint": address} | options
        pipe = {"receivers": ["otlp"], "exporters": ["nop"]}
        return address, start_profcol(
            {
                "receivers": {"otlp": {"protocols": {"grpc": grpc}}},
                "exporters": {"nop": {}},
                "service": {"pipelines": {"profiles": pipe}},
            }
        ).wait_ready()

    return start


def _accepted(run):
    return run.metrics().value("otelcol_receiver_accepted_profile_samples")


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_all_is_taken(client, receiver, compression):
    address, run = receiver()
    assert client.call(address, compression=compression) == {"OK": CALLS}
    assert _accepted(run) == CALLS * SAMPLES


def test_all_is_taken_inside_tls(python_client, source, receiver, tmp_path):
    """Debian's Netty chooses no protocol inside of TLS, so Java has no part in it."""
    authority = Authority(tmp_path)
    address, run = receiver(tls=authority.issue("localhost").files)
    client = Client(python_client, source / REQUEST)
    assert client.call(address, ca=[authority.path]) == {"OK": CALLS}
    assert _accepted(run) == CALLS * SAMPLES


def test_an_unknown_method_is_said(client, receiver):
    address, _ = receiver()
    assert client.call(address, method="/profcol.test.Nothing/Export") == {"UNIMPLEMENTED": CALLS}


def test_what_cannot_be_read_is_said(client, receiver, tmp_path):
    (tmp_path / "request").write_bytes(b"\xff" * 100)
    address, _ = receiver()
    assert client.call(address, file=tmp_path / "request") == {"INVALID_ARGUMENT": CALLS}


def test_what_is_too_large_is_said(client, receiver, tmp_path):
    (tmp_path / "request").write_bytes(bytes(2 << 20))
    address, _ = receiver(max_recv_msg_size_mib=1)
    assert client.call(address, file=tmp_path / "request") == {"RESOURCE_EXHAUSTED": CALLS}
