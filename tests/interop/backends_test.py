# SPDX-License-Identifier: Apache-2.0
"""Each configuration of docs/backends.md sends samples to a peer that takes OTLP as the backend does: with
its transport, compression and headers. Only the address is another one.
"""
import re

import pytest
import yaml

from waiting import wait_until

_RECIPE = re.compile(r"^## ([^\n]+)\n+```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# By the heading: transport, port, compression and headers that the backend is known to take.
_BACKENDS = {
    "Grafana Pyroscope": ("grpc", "4040", "gzip", {"x-scope-orgid": ["team-a"]}),
    "Parca": ("grpc", "7070", "gzip", {}),
    "devfiler": ("grpc", "11000", "gzip", {}),
}


def _recipes(source):
    return dict(_RECIPE.findall((source / "docs/backends.md").read_text()))


def _exporter(recipe):
    (exporter,) = recipe["exporters"].values()
    return exporter


def test_each_backend_has_a_recipe_of_few_lines(source):
    recipes = _recipes(source)
    assert list(recipes) == list(_BACKENDS)
    for name, text in recipes.items():
        assert len(text.splitlines()) <= 15, name


@pytest.mark.sanitized
@pytest.mark.parametrize("name", _BACKENDS)
def test_samples_arrive(name, source, start_profcol, start_sink, burner):
    transport, port, compression, headers = _BACKENDS[name]
    recipe = yaml.safe_load(_recipes(source)[name])
    exporter = _exporter(recipe)
    assert exporter["endpoint"].rpartition(":")[2] == port
    sink = start_sink()
    exporter["endpoint"] = getattr(sink, transport)
    run = start_profcol(recipe)
    burner.wait_burnt(500)
    wait_until(lambda: any(seen["observations"] for seen in sink.requests()), "samples")
    run.stop()
    for request in sink.requests():
        assert (request["transport"], request["compression"]) == (transport, compression)
        assert request["answer"] == "ok"
        for header, value in headers.items():
            assert request["metadata"][header] == value


@pytest.mark.sanitized
def test_samples_arrive_at_pyroscope_over_http(source, start_profcol, start_sink, burner):
    """The other way that the page names: the exporter's own path is the one that Pyroscope has."""
    recipe = yaml.safe_load(_recipes(source)["Grafana Pyroscope"])
    sink = start_sink()
    exporter = {"endpoint": f"http://{sink.http}", "headers": _exporter(recipe)["headers"]}
    recipe["exporters"] = {"otlp_http": exporter}
    recipe["service"]["pipelines"]["profiles"]["exporters"] = ["otlp_http"]
    run = start_profcol(recipe)
    burner.wait_burnt(500)
    wait_until(lambda: any(seen["observations"] for seen in sink.requests()), "samples")
    run.stop()
    assert {request["transport"] for request in sink.requests()} == {"http"}
    assert {request["compression"] for request in sink.requests()} == {"gzip"}
