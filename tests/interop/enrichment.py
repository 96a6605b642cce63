# SPDX-License-Identifier: Apache-2.0
"""A run of profcol that adds what a cluster knows to the resources that are sent to it."""
import http.client
import itertools
import subprocess

import otlp_file
import otlp_request
from free_port import free_port
from otlp_exporter import forwarding, otlp_to
from peer_paths import peer_path
from profcol_run import Profcol
from waiting import wait_until

_QUESTION = "test.question"


def _marked(resources, numbers):
    """A request about them, in which each has a number."""
    scopes = [{"profiles": [{"time": 1, "duration": 1, "samples": [{}]}]}]
    return otlp_request.encode(
        [
            {"attributes": attributes | {_QUESTION: number}, "scopes": scopes}
            for attributes, number in zip(resources, numbers, strict=True)
        ]
    )


def _answers(path, numbers):
    """What has become of the resources with these numbers, in a file of requests."""
    found = {}
    for seen in otlp_file.read(path):
        answer = dict(seen.resource)
        found[answer.pop(_QUESTION, None)] = answer
    return [found[number] for number in numbers]


def ask_collector(gateway, resources):
    """What each of these dicts of attributes becomes in a Gateway with a file, which then ends."""
    numbers = range(len(resources))
    connection = http.client.HTTPConnection(gateway.http, timeout=300)
    headers = {"Content-Type": "application/x-protobuf"}
    connection.request("POST", "/v1development/profiles", _marked(resources, numbers), headers)
    assert connection.getresponse().status == 200
    connection.close()
    gateway.stop()
    return _answers(gateway.file, numbers)


class Enrichment:
    """OTLP in, through `k8s_attributes` with these options, out to `sink`."""

    def __init__(self, program, directory, sink, options, prefix=()):
        self._directory, self._sink = directory, sink
        self._address = f"127.0.0.1:{free_port()}"
        self._numbers = itertools.count(1)
        configuration = forwarding(self._address, otlp_to(sink.grpc))
        configuration["processors"] = {"k8s_attributes": options}
        # Longer than any test waits: nothing here is to be cut off by the end's own bound.
        configuration["service"]["shutdown_timeout"] = "1h"
        configuration["service"]["pipelines"]["profiles"]["processors"] = ["k8s_attributes"]
        self.run = Profcol(program, directory, configuration, prefix)

    def wait_ready(self):
        self.run.wait_ready()
        return self

    def ask_all(self, resources):
        """What each of these dicts of attributes has become."""
        numbers = [next(self._numbers) for _ in resources]
        requests = self._directory / "question"
        requests.write_bytes(_marked(resources, numbers))
        flags = {"to": self._address, "sink-log": self._sink.log, "clients": 1}
        flags = [f"--{name}={value}" for name, value in flags.items()]
        result = subprocess.run(
            [peer_path("send"), "--once", *flags, requests], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr + self.run.log
        return _answers(self._sink.out, numbers)

    def ask(self, container_id):
        """What is known of a container, but for its id."""
        (answer,) = self.ask_all([{"container.id": container_id}])
        assert answer.pop("container.id") == container_id
        return answer

    def wait_known(self, container_id, **expected):
        """Until a container is known with these attributes; all that is known of it then."""
        expected = {key.replace("__", "."): value for key, value in expected.items()}

        def answer():
            known = self.ask(container_id)
            return known if known and expected.items() <= known.items() else None

        # After some failures the next attempt is up to a minute away.
        return wait_until(answer, f"{container_id} with {expected}", bound_s=120, step_s=0.1)

    def stop(self):
        self.run.stop()
