# SPDX-License-Identifier: Apache-2.0
"""A real Collector sends to profcol's receiver over OTLP/HTTP, in every encoding and compression that
both have, over HTTP/1.1 and HTTP/2. What arrives equals what profcol's own pprof exporter wrote of the
same batches.
"""
import json
import urllib.error
import urllib.request

import pytest

import otlp_file
from free_port import free_port
from otlp_exporter import otlp_to
from profcol_run import pipeline, read_profile

_BURN_MS = 2000  # several batches
_PATH = "/v1development/profiles"


def _variants(authority):
    """By name: what the Collector's exporter is told, and profcol's receiver."""
    server = authority.issue("localhost")
    trust = {"ca_file": str(authority.path)}
    client = authority.issue("client")
    mutual = server.files | {"client_ca_file": str(authority.path)}
    return {
        "gzip": ({}, {}),
        "zstd": ({"compression": "zstd"}, {}),
        "zlib": ({"compression": "zlib"}, {}),
        "deflate": ({"compression": "deflate"}, {}),
        "plain": ({"compression": "none"}, {}),
        "json": ({"encoding": "json"}, {}),
        "json_plain": ({"encoding": "json", "compression": "none"}, {}),
        # By ALPN that is HTTP/2, where the Collector does not say how long a body is.
        "tls": ({"tls": trust}, {"tls": server.files}),
        "tls_http1": ({"tls": trust, "force_attempt_http2": False}, {"tls": server.files}),
        "mtls": ({"tls": trust | client.files}, {"tls": mutual}),
    }


NAMES = [
    "gzip",
    "zstd",
    "zlib",
    "deflate",
    "plain",
    "json",
    "json_plain",
    "tls",
    "tls_http1",
    "mtls",
]


class _Relay:
    """profcol with a receiver and a file for each variant."""

    def __init__(self, start_profcol, directory, variants):
        self.ports = {name: free_port() for name in variants}
        self.files = {name: directory / name for name in variants}
        configuration = {"receivers": {}, "exporters": {}, "service": {"pipelines": {}}}
        for name, (_, options) in variants.items():
            http = {"endpoint": f"127.0.0.1:{self.ports[name]}"} | options
            configuration["receivers"][f"otlp/{name}"] = {"protocols": {"http": http}}
            configuration["exporters"][f"file/{name}"] = {
                "path": str(self.files[name]),
                "format": "proto",
            }
            configuration["service"]["pipelines"][f"profiles/{name}"] = {
                "receivers": [f"otlp/{name}"],
                "exporters": [f"file/{name}"],
            }
        self.run = start_profcol(configuration)

    def exporter(self, name, options):
        scheme = "https" if "tls" in options else "http"
        return {"endpoint": f"{scheme}://localhost:{self.ports[name]}"} | options


@pytest.fixture(scope="module")
def relayed(start_profcol, start_gateway, burner, authority, new_directory):
    """The files of the relay by variant, what was sent, and the relay's run."""
    variants = _variants(authority)
    assert list(variants) == NAMES
    relay = _Relay(start_profcol, new_directory(), variants)
    gateway = start_gateway(
        {
            f"otlp_http/{name}": relay.exporter(name, options)
            for name, (options, _) in variants.items()
        }
    )
    directory = new_directory()
    exporters = {
        "pprof": {"directory": str(directory), "interval": "1h"},
        "otlp_grpc": otlp_to(gateway.grpc),
    }
    profiler = start_profcol(pipeline(exporters=exporters))
    burner.wait_burnt(_BURN_MS)
    profiler.stop()
    gateway.stop()
    relay.run.stop()
    return relay, read_profile(directory)


@pytest.mark.parametrize("name", NAMES)
def test_what_arrives_is_what_was_sent(relayed, name):
    relay, sent = relayed
    observations = otlp_file.read(relay.files[name])
    assert otlp_file.count_samples(seen.sample for seen in observations) == (
        otlp_file.count_samples(sent.samples)
    )
    assert len(observations) == sent.count


@pytest.mark.parametrize("name", NAMES)
def test_what_arrives_keeps_the_rules(relayed, name, assert_conforms):
    assert_conforms(relayed[0].files[name])


# ---- the same faults, by both ----

_FAULTS = {
    "method": ({}, None, "GET"),
    "type": ({"Content-Type": "text/plain"}, b"x", "POST"),
    "no_type": ({"Content-Type": ""}, b"x", "POST"),
    "broken": ({"Content-Type": "application/x-protobuf"}, b"\xff\xff\xff", "POST"),
    "broken_json": ({"Content-Type": "application/json"}, b"{", "POST"),
    "encoding": (
        {"Content-Type": "application/x-protobuf", "Content-Encoding": "br"},
        b"x",
        "POST",
    ),
    "empty": ({"Content-Type": "application/x-protobuf"}, b"", "POST"),
    "empty_json": ({"Content-Type": "application/json"}, b"{}", "POST"),
}


def _ask(address, path, headers, body, method):
    """Status, type, and of JSON the code that the body has."""
    request = urllib.request.Request(
        f"http://{address}{path}", data=body, headers=headers, method=method
    )
    try:
        answer = urllib.request.urlopen(request, timeout=300)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read()
        kind = answer.headers.get_content_type()
        code = json.loads(text).get("code") if kind == "application/json" else None
        return answer.status, kind, code


@pytest.fixture(scope="module")
def both(start_profcol, start_gateway, new_directory):
    """Addresses of a Collector's receiver, and of profcol's."""
    gateway = start_gateway()
    port = free_port()
    start_profcol(
        {
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"file": {"path": str(new_directory() / "file")}},
            "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["file"]}}},
        }
    )
    return gateway.http, f"127.0.0.1:{port}"


@pytest.mark.parametrize("name", _FAULTS)
def test_faults_are_answered_as_the_collector_does(both, name):
    theirs, ours = (_ask(address, _PATH, *_FAULTS[name]) for address in both)
    assert ours == theirs


def test_other_paths_are_not_found(both):
    theirs, ours = (_ask(address, "/v1/nothing", {}, b"x", "POST") for address in both)
    assert ours[0] == theirs[0] == 404
