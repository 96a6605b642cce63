# SPDX-License-Identifier: Apache-2.0
"""`profcol shadow`: another profiler sends its OTLP, and both are compared."""
import json
import math
import os
import pty
import re
import signal
import socket
import struct
import subprocess

import pytest

from collectors import Reference
from free_port import free_port
from profcol_run import pipeline, with_patience
from target_run import computing_shell
from waiting import wait_until

_RATE = 99

# Profilers that starve lose samples, and say so: no matter for a comparison.
_AHEAD = ("nice", "-n", "-20")


class Shadow:
    """A run of `profcol shadow`; it listens once it has been made."""

    def __init__(self, program, *arguments, listens=True, **options):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        words = [*_AHEAD, program, "shadow", "--otlp", self.address, "--frequency", _RATE, *arguments]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        self.process = subprocess.Popen([str(word) for word in words], text=True, **options)
        if listens:
            wait_until(self._listens, "shadow to listen")

    def _listens(self):
        assert self.process.poll() is None, self.process.communicate()
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def end(self):
        """(exit code, what it printed, what it said)"""
        out, errors = self.process.communicate(timeout=120)
        assert "Sanitizer" not in errors and "runtime error" not in errors, errors
        return self.process.returncode, out, errors

    def report(self):
        """What it has found, of --format json."""
        code, out, errors = self.end()
        assert code == 0, errors
        return json.loads(out)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start_shadow(program):
    runs = []

    def start(*arguments, **options):
        runs.append(Shadow(program, *arguments, **options))
        return runs[-1]

    yield start
    for run in runs:
        run.kill()


def other(address, **receiver):
    """The configuration of another profcol, which sends to `address`."""
    exporter = {"endpoint": address, "tls": {"insecure": True}}
    receiver = {"samples_per_second": _RATE} | receiver
    return with_patience(pipeline(receiver=receiver, exporters={"otlp_grpc": exporter}))


def service(report, name):
    (found,) = (one for one in report["services"] if one["name"] == name)
    return found


def assert_alike(counts, tolerance):
    """But for chance, and for this share of them."""
    ours, theirs = counts["profcol"], counts["other"]
    assert abs(ours - theirs) < 5 * math.sqrt(ours + theirs) + tolerance * theirs, counts


@pytest.fixture
def hot(burner):
    """It has a CPU to itself, however busy the machine is."""
    os.setpriority(os.PRIO_PROCESS, burner.pid, -20)


def test_two_of_the_same_agree(start_shadow, start_profcol, hot):
    shadow = start_shadow("--seconds", 8, "--format", "json")
    run = start_profcol(other(shadow.address), prefix=_AHEAD)
    report = shadow.report()
    ours, theirs = report["profilers"]["profcol"], report["profilers"]["other"]
    burn = service(report, "burn")

    assert report["to_unix_ns"] - report["from_unix_ns"] > 5e9
    assert min(burn["samples"].values()) > 30
    assert_alike(burn["samples"], 0)
    assert_alike(report["all"]["samples"], 0.05)
    assert burn["hottest"][0]["function"] == "burn_leaf"
    assert burn["agreement"] > 0.9 and burn["by_file"] < 0.1
    for name in ("profcol", "other"):
        assert burn["complete_stacks"][name] > 0.97 * burn["samples"][name]
    assert report["other_pids"] == [run.pid] and not report["other_pids_ended"]
    assert report["profcol_samples_lost"] == 0, report["profcol_loss_causes"]
    for each in (ours, theirs):
        assert each["samples_before"] > 0  # each had begun before the time did
        assert 0 < each["cpu"] < 1 and each["memory_bytes"] > 1 << 20
        assert each["bpf_map_bytes"] > 1 << 16
        assert each["otlp_bytes"] > 8 * each["samples"]  # a time stamp each
        assert each["period_ns"] == pytest.approx(1e9 / _RATE, rel=0.01)
    assert ours["samples"] == report["all"]["samples"]["profcol"]
    run.stop()


def test_samples_without_time_stamps(start_shadow, start_profcol, hot):
    shadow = start_shadow("--seconds", 4, "--format", "json")
    start_profcol(other(shadow.address, timestamps=False), prefix=_AHEAD)
    report = shadow.report()
    theirs = report["profilers"]["other"]
    assert theirs["samples_without_time"] > 0
    assert_alike(service(report, "burn")["samples"], 0.1)


def test_ctrl_c_prints_what_there_is(start_shadow, start_profcol, burner):
    ours, terminal = pty.openpty()
    shadow = start_shadow("--seconds", 600, stderr=terminal)
    os.close(terminal)
    start_profcol(other(shadow.address), prefix=_AHEAD)
    progress = b""
    while not re.search(rb"\d\d:\d[3-9]  [1-9]\d* samples, the other [1-9]\d*; Ctrl-C", progress):
        progress += os.read(ours, 4096)
    shadow.process.send_signal(signal.SIGINT)
    out, _ = shadow.process.communicate(timeout=300)
    os.close(ours)
    assert shadow.process.returncode == 0
    assert b"waiting for a profiler to send to " + shadow.address.encode() in progress
    assert re.match(r"\d+\.\d s of 600 that both have sampled: ", out), out
    assert re.search(r"^burn +[1-9]\d* +[1-9]\d* ", out, re.MULTILINE), out
    # The hottest functions of the machine, whoever runs on it.
    assert re.search(r"^ +\d+\.\d +\d+\.\d  \S.* \(\S+\)$", out, re.MULTILINE), out
    assert max(map(len, out.splitlines())) <= 100


def test_nobody_sends(start_shadow):
    shadow = start_shadow("--seconds", 1)
    with pytest.raises(subprocess.TimeoutExpired):
        shadow.process.wait(timeout=4)  # longer than many an interval is
    shadow.process.send_signal(signal.SIGINT)
    code, out, errors = shadow.end()
    assert (code, out) == (1, "")
    assert f"Error: no profiler has sent anything to {shadow.address} in " in errors
    assert f'endpoint: "{shadow.address}"' in errors


def test_only_refused_requests(start_shadow):
    """HTTP/2 by hand: a call of another service."""
    shadow = start_shadow("--seconds", 30)
    method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    with socket.create_connection(("127.0.0.1", shadow.port), timeout=300) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b""))
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": shadow.address,
            "content-type": "application/grpc",
            "te": "trailers",
        }
        connection.sendall(_frame(1, 4, 1, b"".join(map(_field, headers, headers.values()))))
        connection.sendall(_frame(0, 1, 1, bytes(5)))
        received = b""
        while not _is_answered(received):
            received += connection.recv(4096) or pytest.fail(f"no answer: {received}")
    shadow.process.send_signal(signal.SIGINT)
    code, out, errors = shadow.end()
    assert (code, out) == (1, "")
    assert f"nothing that came to {shadow.address} could be read: 1 requests" in errors, errors
    assert f"unknown method {method}" in errors


def _is_answered(received):
    """Has a frame with headers ended stream 1?"""
    while len(received) >= 9:
        length, kind, flags, stream = struct.unpack(">I", b"\0" + received[:3]) + struct.unpack(
            ">BBI", received[3:9]
        )
        if (kind, flags & 1, stream) == (1, 1, 1):
            return True
        received = received[9 + length :]
    return False


def _frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _field(name, value):
    """A header field in HPACK: literal, not indexed."""
    name, value = name.encode(), value.encode()
    assert max(len(name), len(value)) < 127
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def test_a_process_that_is_not_there(program):
    ended = subprocess.Popen(["true"])
    ended.wait()
    command = [program, "shadow", "--otlp", "127.0.0.1:4317", "--pid", str(ended.pid)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stdout) == (1, "")
    assert f"cannot compare with process {ended.pid}: there is none" in result.stderr


def test_exec_begins_another_service(start_shadow, start_profcol, start_target, build_target):
    """One PID: a shell that computes until it is told, then a program."""
    shadow = start_shadow("--seconds", 600, "--format", "json")
    run = start_profcol(other(shadow.address), prefix=_AHEAD).wait_ready()
    target = start_target("sh", "-c", computing_shell('exec "$0"'), build_target("burn"))
    # The time that is compared begins with what the other sends first.
    wait_until(
        lambda: run.metrics().value("otelcol_exporter_sent_profile_samples"), "samples of the other"
    )
    target.wait_burnt(1000)
    target.process.terminate()
    target.wait_burnt(1000)
    run.stop()  # it tells all that it has
    shadow.process.send_signal(signal.SIGINT)
    report = shadow.report()
    shell = os.path.basename(os.path.realpath("/bin/sh"))
    for name in (shell, "burn"):
        assert min(service(report, name)["samples"].values()) > 10, report["services"]


def test_a_process_without_bpf(start_shadow, start_profcol, burner):
    """--pid names what is no profiler, and ends meanwhile."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    shadow = start_shadow("--seconds", 3, "--pid", sleeper.pid)
    start_profcol(other(shadow.address), prefix=_AHEAD)
    code, out, errors = shadow.end()
    assert code == 0, errors
    assert f"no BPF programs and maps of process {sleeper.pid} can be seen" in out, out
    assert re.search(r"^  BPF maps +\d+\.\d +-$", out, re.MULTILINE), out

    shadow = start_shadow("--seconds", 3, "--pid", sleeper.pid, "--format", "json")
    sleeper.kill()
    sleeper.wait()
    start_profcol(other(shadow.address), prefix=_AHEAD)
    report = shadow.report()
    assert report["other_pids_ended"] and report["profilers"]["other"]["cpu"] is None


def test_an_address_in_use(program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = subprocess.run(
            [program, "shadow", "--otlp", address], capture_output=True, text=True, timeout=300
        )
    assert (result.returncode, result.stdout) == (1, "")
    assert address in result.stderr and "in use" in result.stderr, result.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "'shadow' needs an address for the other profiler to send to"),
        (["--otlp", "4317"], "flag '--otlp' takes HOST:PORT, not '4317'"),
        (["--otlp", "a:1", "--seconds", "0"], "flag '--seconds' takes a whole number from 1"),
        (["--otlp", "a:1", "--format", "yaml"], "flag '--format' takes text or json"),
    ],
)
def test_wrong_usage(program, arguments, message):
    result = subprocess.run(
        [program, "shadow", *arguments], capture_output=True, text=True, timeout=300
    )
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr


@pytest.mark.peers
def test_the_reference_profiler(start_shadow, hot, tmp_path):
    """It has no names for machine code: addresses get ours."""
    # It starts slowly: on a busy machine 30 s were too few for it to send anything.
    shadow = start_shadow("--seconds", 60, "--format", "json")
    run = Reference(tmp_path, shadow.address)
    try:
        report = shadow.report()
    finally:
        run.kill()
    burn = service(report, "burn")
    # Of a process that is there when it starts it tells seconds later, when the machine is busy.
    assert 30 < burn["samples"]["other"] < 1.1 * burn["samples"]["profcol"]
    assert burn["agreement"] > 0.85 and burn["by_file"] < 0.1, burn
    assert burn["complete_stacks"]["other"] > 0.9 * burn["samples"]["other"]
    assert report["other_pids"] == [run.pid]
    assert report["profilers"]["other"]["cpu"] > 0
