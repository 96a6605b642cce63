# SPDX-License-Identifier: Apache-2.0
"""The name of a peer, with a name server that does not answer what it is asked."""
import contextlib
import random
import socket
import struct
import threading

import pytest

from free_port import free_port
from profcol_run import pipeline, with_patience
from waiting import wait_until

_NAME = "gateway.profcol.test"
_A = 1
_TTL_S = 5


class NameServer:
    """A name server at a loopback address of its own that knows `addresses`, of IPv4 only, and does
    not answer other questions. Its `asked` are (name, type).
    """

    def __init__(self, addresses):
        self._addresses, self.asked = addresses, []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.address = self._bind()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _bind(self):
        while True:
            address = "127.%d.%d.53" % (random.randrange(64, 250), random.randrange(1, 250))
            with contextlib.suppress(OSError):
                self._socket.bind((address, 53))
                return address

    def _answer(self, packet):
        labels, at = [], 12
        while length := packet[at]:
            labels.append(packet[at + 1 : at + 1 + length].decode())
            at += 1 + length
        name, (kind,) = ".".join(labels).lower(), struct.unpack_from(">H", packet, at + 1)
        self.asked.append((name, kind))
        if kind != _A or name not in self._addresses:
            return None
        data = socket.inet_aton(self._addresses[name])
        head = packet[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0)
        record = struct.pack(">HHHIH", 0xC00C, _A, 1, _TTL_S, len(data)) + data
        return head + packet[12 : at + 5] + record

    def _run(self):
        while True:
            packet, peer = self._socket.recvfrom(4096)
            if not packet:
                return
            if answer := self._answer(packet):
                self._socket.sendto(answer, peer)

    def close(self):
        self._socket.sendto(b"", (self.address, 53))
        self._thread.join()
        self._socket.close()


def _within(directory, server, hosts):
    """Starts a command that has these `hosts`, and this name server alone."""
    directory.mkdir()
    files = {
        "hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()),
        "resolv.conf": f"nameserver {server.address}\noptions timeout:30 attempts:5\n",
        "nsswitch.conf": "hosts: files dns\n",
    }
    for name, text in files.items():
        (directory / name).write_text(text)
    mounts = "".join(f'mount --bind "$0/{name}" /etc/{name} && ' for name in files)
    return ["unshare", "--mount", "sh", "-c", f'{mounts}exec "$@"', directory]


def _gateway(port, directory):
    protocols = {"grpc": {"endpoint": f"127.0.0.1:{port}"}}
    return {
        "receivers": {"otlp": {"protocols": protocols}},
        "exporters": {"pprof": {"directory": str(directory), "interval": "1h"}},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["pprof"]}}},
    }


@pytest.mark.parametrize("known_by", ["its file of hosts", "its name server"])
def test_samples_arrive(start_profcol, burner, tmp_path, known_by):
    known = {_NAME: "127.0.0.1"}
    is_in_file = known_by == "its file of hosts"
    port = free_port()
    gateway = start_profcol(_gateway(port, tmp_path / "got")).wait_ready()
    exporter = {"endpoint": f"{_NAME}:{port}", "tls": {"insecure": True}, "timeout": "20s"}
    with contextlib.closing(NameServer({} if is_in_file else known)) as server:
        hosts = {"localhost": "127.0.0.1"} | (known if is_in_file else {})
        profiler = start_profcol(
            with_patience(pipeline(exporters={"otlp_grpc": exporter})),
            prefix=_within(tmp_path / "etc", server, hosts),
        ).wait_ready()
        burner.wait_burnt(500)
        wait_until(
            lambda: gateway.metrics().value("otelcol_receiver_accepted_profile_samples"),
            "samples to arrive",
        )
        profiler.stop()
        about_it = [kind for name, kind in server.asked if name == _NAME]
    # What the file says, nobody has to be asked, who would not answer.
    assert (_A in about_it) == (not is_in_file)
    assert not (is_in_file and about_it)
