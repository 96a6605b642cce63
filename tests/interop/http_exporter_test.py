# SPDX-License-Identifier: Apache-2.0
"""profcol sends to a real Collector over OTLP/HTTP, in every compression, plain and with TLS. What the
Collector writes equals what profcol's own pprof exporter wrote of the same batches.
"""
import pytest

import otlp_file
from profcol_run import pipeline, read_profile

_BURN_MS = 2000  # several batches

NAMES = ["gzip", "zstd", "zlib", "deflate", "plain", "tls", "mtls"]


@pytest.fixture(scope="module")
def sent(start_profcol, start_gateway, burner, authority, new_directory):
    """By name the Collector's file, what was sent, and the balances of the exporters."""
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
    assert list(settings) == NAMES
    directory, gateways = new_directory(), {}
    exporters = {"pprof": {"directory": str(directory), "interval": "1h"}}
    for name, (options, http) in settings.items():
        gateways[name] = start_gateway(http=http)
        port = gateways[name].http.rpartition(":")[2]
        scheme = "https" if "tls" in options else "http"
        exporters[f"otlp_http/{name}"] = {"endpoint": f"{scheme}://localhost:{port}"} | options
    profiler = start_profcol(pipeline(exporters=exporters)).wait_ready()
    burner.wait_burnt(_BURN_MS)
    profiler.stop()
    for gateway in gateways.values():
        gateway.stop()
    files = {name: gateway.file for name, gateway in gateways.items()}
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
