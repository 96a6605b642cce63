# SPDX-License-Identifier: Apache-2.0
"""Runs of what profcol sends to, our sink and a real Collector as a gateway, and of the reference
profiler, which sends to both.
"""
import json
import os
import pathlib
import signal
import subprocess
import time

from free_port import free_port
from json_lines import read_json_lines
from peer_paths import peer_path

START_BOUND_S = 300


class Sink:
    """A run of the sink, which answers as the newest Collector does, or as `answers` says.

    `grpc` and `http` are addresses to connect to. Options are the program's own: cert=PATH,
    client_ca=PATH, max_recv_bytes=N, listen_delay="2s". An `address` of an earlier run listens
    there again. The files of the directory grow over several runs.
    """

    def __init__(self, directory, answers="ok", address="127.0.0.1:0", **options):
        self.out = directory / "requests"
        self.log = directory / "requests.jsonl"
        self._answers = directory / "answers"
        self.answer(answers)
        flags = {"grpc": address, "http": "127.0.0.1:0", "out": self.out, "log": self.log}
        flags |= {"answers-file": self._answers}
        flags |= {name.replace("_", "-"): value for name, value in options.items()}
        self._process = subprocess.Popen(
            [peer_path("sink"), *(f"--{name}={value}" for name, value in flags.items())],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self._process.stdout.readline().split()
        assert line[:1] == ["ready"], "the sink did not start; see its error above"
        addresses = dict(word.split("=", 1) for word in line[1:])
        self.grpc, self.http = addresses["grpc"], addresses["http"]

    def answer(self, script):
        """Change the script; the next request is its first one."""
        new = self._answers.with_suffix(".new")
        new.write_text(script)
        new.rename(self._answers)

    def requests(self):
        """One dict for each request so far."""
        return read_json_lines(self.log)

    def stop(self):
        self._process.terminate()
        assert self._process.wait(timeout=START_BOUND_S) == 0

    def pause(self):
        """As a peer that accepts connections and then does nothing at all."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def is_asleep(pid):
    """Do all threads of the process wait for something? A Collector says that it is ready before it
    listens to signals, which it does once this holds.
    """
    stats = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
    try:
        return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats} == {"S"}
    except OSError:  # a thread has ended
        return False


class Gateway:
    """A run of the OpenTelemetry Collector 0.159: OTLP in over gRPC and HTTP, to `exporters`.

    Both arguments are as in a Collector's configuration: `exporters` by id, and `grpc` and `http`
    as settings of the receiver's protocols, such as {"tls": {"cert_file": ...}}. With another
    `signal` it has no pipeline for profiles.
    """

    def __init__(
        self, directory, exporters, grpc=None, http=None, processors=None, signal="profiles"
    ):
        self.grpc = f"127.0.0.1:{free_port()}"
        self.http = f"127.0.0.1:{free_port()}"
        protocols = {
            "grpc": {"endpoint": self.grpc} | (grpc or {}),
            "http": {"endpoint": self.http} | (http or {}),
        }
        pipeline = {
            "receivers": ["otlp"],
            "processors": list(processors or {}),
            "exporters": list(exporters),
        }
        configuration = directory / "gateway.yaml"
        configuration.write_text(
            json.dumps(
                {
                    "receivers": {"otlp": {"protocols": protocols}},
                    "processors": processors or {},
                    "exporters": exporters,
                    "service": {
                        "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {signal: pipeline},
                    },
                }
            )
        )
        self.log = directory / "gateway.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    peer_path("gateway"),
                    f"--config={configuration}",
                    "--feature-gates=service.profilesSupport",
                ],
                stderr=log,
                env=os.environ | {"GOMAXPROCS": "2"},
            )
        self._wait_ready()

    def _wait_ready(self):
        end = time.monotonic() + START_BOUND_S
        while "Everything is ready" not in self.log.read_text():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)
        while not is_asleep(self._process.pid):
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.01)

    def stop(self):
        """As on SIGTERM: what it holds is written first."""
        self._process.terminate()
        assert self._process.wait(timeout=START_BOUND_S) == 0, self.log.read_text()

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Reference:
    """A run of the reference profiler, which takes 99 samples a second and sends them to `address`
    once a second. Where it has not been built the test is skipped: that takes too long for every
    run of the tests.
    """

    def __init__(self, directory, address):
        configuration = {
            "receivers": {"profiling": {"samples_per_second": 99, "reporter_interval": "1s"}},
            "exporters": {"otlp": {"endpoint": address, "tls": {"insecure": True}}},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["otlp"]}},
            },
        }
        path = directory / "reference.yaml"
        path.write_text(json.dumps(configuration))
        self._log = directory / "reference.log"
        command = [
            peer_path("memlock_launcher"),
            peer_path("reference", optional=True),
            f"--config={path}",
            "--feature-gates=+service.profilesSupport",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stderr=log)

    @property
    def pid(self):
        return self._process.pid

    def check(self, condition):
        """This, and that it runs still; else its log tells."""
        assert condition and self._process.poll() is None, self._log.read_text()

    def stop(self):
        self._process.terminate()
        assert self._process.wait(timeout=START_BOUND_S) == 0, self._log.read_text()

    def kill(self):
        self._process.kill()
        self._process.wait()


def inspect(*arguments):
    """What inspect prints of files; arguments as on its command line."""
    result = subprocess.run([peer_path("inspect"), *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def inspect_summary(*arguments):
    """The counts of files, as a dict."""
    return json.loads(inspect("--summary", *arguments))


def inspect_text(*paths):
    """Every observation of files as a line of text, sorted."""
    return inspect("--text", "--sort", *paths).splitlines()
