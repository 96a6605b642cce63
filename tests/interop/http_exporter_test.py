# SPDX-License-Identifier: Apache-2.0
"""profcol sends over OTLP/HTTP to a real Collector and to its own receiver: in every compression, in both
encodings, plain and with TLS. What they write equals what profcol's own pprof exporter wrote of the
same batches.
"""
import pytest

import otlp_file
from free_port import free_port
from profcol_run import pipeline, read_profile
from waiting import wait_until

_BURN_MS = 2000  # several batches
# As long as a busy machine takes to answer: what is sent a second time arrives twice.
_TIMEOUT = "30s"

_COMPRESSIONS = ["gzip", "zstd", "zlib", "deflate", "none"]
_JSON_NAMES = [f"json_{compression}" for compression in _COMPRESSIONS]
_OWN_NAMES = [f"own_{name}" for name in _JSON_NAMES]
NAMES = [
    *("gzip", "zstd", "zlib", "deflate", "plain", "tls", "mtls"),
    *_JSON_NAMES,
    *("json_split", "json_halved"),
    *_OWN_NAMES,
]


class _Relay:
    """profcol with a receiver and a file for each of `names`."""

    def __init__(self, start_profcol, directory, names):
        self.ports = {name: free_port() for name in names}
        self.files = {name: directory / name for name in names}
        receivers, exporters, pipelines = {}, {}, {}
        for name in names:
            http = {"endpoint": f"127.0.0.1:{self.ports[name]}"}
            receivers[f"otlp/{name}"] = {"protocols": {"http": http}}
            exporters[f"file/{name}"] = {"path": str(self.files[name]), "format": "proto"}
            pipelines[f"profiles/{name}"] = {
                "receivers": [f"otlp/{name}"],
                "exporters": [f"file/{name}"],
            }
        service = {"pipelines": pipelines}
        configuration = {"receivers": receivers, "exporters": exporters, "service": service}
        self.run = start_profcol(configuration)


def _settings(authority):
    """By name: what profcol's exporter is told, and the Collector's receiver."""
    server, client = authority.issue("localhost"), authority.issue("client")
    trust = {"ca_file": str(authority.path)}
    mutual = server.files | {"client_ca_file": str(authority.path)}
    settings = {
        "gzip": ({}, {}),
        "zstd": ({"compression": "zstd"}, {}),
        "zlib": ({"compression": "zlib"}, {}),
        "deflate": ({"compression": "deflate"}, {}),
        "plain": ({"compression": "none"}, {}),
        "tls": ({"tls": trust}, {"tls": server.files}),
        "mtls": ({"tls": trust | client.files}, {"tls": mutual}),
    }
    for name, compression in zip(_JSON_NAMES, _COMPRESSIONS):
        settings[name] = ({"encoding": "json", "compression": compression}, {})
    # In pieces by way of the disk, and in halves because the peer takes no more.
    disk = {"max_request_bytes": "16KiB", "sending_queue": {"storage": "file_storage"}}
    settings["json_split"] = ({"encoding": "json"} | disk, {})
    settings["json_halved"] = ({"encoding": "json"}, {"max_request_body_size": 65536})
    return settings


@pytest.fixture(scope="module")
def sent(start_profcol, start_gateway, burner, authority, new_directory):
    """By name the peer's file, what was sent, and the balances of the exporters."""
    settings = _settings(authority)
    assert [*settings, *_OWN_NAMES] == NAMES
    directory, gateways = new_directory(), {}
    relay = _Relay(start_profcol, new_directory(), _OWN_NAMES)
    exporters = {"pprof": {"directory": str(directory), "interval": "1h"}}
    for name, (options, http) in settings.items():
        gateways[name] = start_gateway(http=http)
        port = gateways[name].http.rpartition(":")[2]
        scheme = "https" if "tls" in options else "http"
        exporters[f"otlp_http/{name}"] = {
            "endpoint": f"{scheme}://localhost:{port}",
            "timeout": _TIMEOUT,
        } | options
    for name, compression in zip(_OWN_NAMES, _COMPRESSIONS):
        endpoint = f"http://127.0.0.1:{relay.ports[name]}"
        options = {"encoding": "json", "compression": compression}
        exporters[f"otlp_http/{name}"] = {"endpoint": endpoint, "timeout": _TIMEOUT} | options
    configuration = pipeline(exporters=exporters)
    configuration["extensions"] = {"file_storage": {"directory": str(new_directory())}}
    configuration["service"]["extensions"] = ["file_storage"]
    profiler = start_profcol(configuration)
    burner.wait_burnt(_BURN_MS)
    profiler.stop()
    for gateway in gateways.values():
        gateway.stop()
    relay.run.stop()
    files = {name: gateway.file for name, gateway in gateways.items()} | relay.files
    return files, read_profile(directory), profiler.balances_by_exporter()


@pytest.mark.parametrize("name", NAMES)
def test_what_arrives_is_what_was_sent(sent, name):
    files, profile, balances = sent
    observations = otlp_file.read(files[name])
    assert otlp_file.count_samples(seen.sample for seen in observations) == (
        otlp_file.count_samples(profile.samples)
    )
    assert len(observations) == profile.count
    assert balances[f"otlp_http/{name}"].exported == profile.count
    assert balances[f"otlp_http/{name}"].dropped == {}


@pytest.mark.parametrize("name", NAMES)
def test_what_arrives_keeps_the_rules(sent, name, assert_conforms):
    assert_conforms(sent[0][name])


# ---- connections ----


@pytest.mark.parametrize("off", [False, True])
def test_connections_are_used_again(start_profcol, start_sink, burner, off):
    """One after the other over one connection, unless the configuration wants no such thing."""
    sink = start_sink()
    exporter = {
        "endpoint": f"http://{sink.http}",
        "timeout": _TIMEOUT,
        "sending_queue": {"num_consumers": 1},
        "idle_conn_timeout": 0,
        "disable_keep_alives": off,
    }
    receiver = {"reporter_interval": "100ms"}
    run = start_profcol(pipeline(receiver=receiver, exporters={"otlp_http": exporter}))
    burner.wait_burnt(_BURN_MS)
    wait_until(lambda: len(sink.requests()) >= 5, "several requests")
    run.stop()
    connections = {request["peer"] for request in sink.requests()}
    assert len(connections) > 1 if off else len(connections) == 1
