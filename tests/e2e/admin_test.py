# SPDX-License-Identifier: Apache-2.0
"""The extensions that are asked over HTTP: health_check and zpages, as probes and people do."""
import html.parser
import http.client
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

from free_port import free_port
from listening_ports import listening_ports
from waiting import BOUND_S, wait_until


def service(extensions, enabled=None, exporters=None):
    """A configuration without the profiler: OTLP in, to the terminal."""
    exporters = exporters or {"debug": {}}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{free_port()}"}}}},
        "exporters": exporters,
        "extensions": extensions,
        "service": {
            "extensions": list(extensions) if enabled is None else enabled,
            "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": list(exporters)}},
        },
    }


def ask(url, **options):
    """(code, headers, body) of a GET."""
    try:
        with urllib.request.urlopen(url, timeout=BOUND_S, **options) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def ask_json(url, code=200):
    status, headers, body = ask(url)
    assert (status, headers["Content-Type"]) == (code, "application/json"), body
    return json.loads(body)


@pytest.mark.sanitized
def test_probes_and_statuses(start_profcol):
    port = free_port()
    run = start_profcol(service({"health_check": {"endpoint": f"localhost:{port}"}})).wait_ready()
    probe = ask_json(f"http://127.0.0.1:{port}/")
    assert list(probe) == ["status", "upSince", "uptime"]
    assert probe["status"] == "Server available"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", probe["upSince"])
    assert re.fullmatch(r"((\d+h)?\d+m)?\d+(\.\d+)?(s|ms|µs)", probe["uptime"])

    status = ask_json(f"http://localhost:{port}/status?verbose")
    assert (status["status"], status["healthy"]) == ("StatusOK", True)
    pipeline = status["components"]["pipeline:profiles"]
    assert set(pipeline["components"]) == {"receiver:otlp", "exporter:debug"}
    assert "extension:health_check" in status["components"]["extensions"]["components"]
    for part in pipeline["components"].values():
        assert part["status"] == "StatusOK" and part["status_time"]
    assert "components" not in ask_json(f"http://localhost:{port}/status?pipeline=profiles")
    ask_json(f"http://localhost:{port}/status?pipeline=traces", code=404)

    run.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_nothing_listens_unless_it_is_enabled(start_profcol):
    extensions = {
        "health_check": {"endpoint": f"localhost:{free_port()}"},
        "zpages": {"endpoint": f"localhost:{free_port()}"},
    }
    configuration = service(extensions, enabled=[])
    run = start_profcol(configuration).wait_ready()
    otlp = configuration["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"]
    assert listening_ports(run.pid) == {int(otlp.rpartition(":")[2]), run.metrics_port}
    run.stop()


def test_it_says_which_component_is_unwell_since_when_and_why(start_profcol, burner):
    port, peer = free_port(), free_port()
    health = {
        "endpoint": f"localhost:{port}",
        "component_health": {"include_recoverable_errors": True, "recovery_duration": "1ms"},
    }
    configuration = service(
        {"health_check": health},
        exporters={
            "debug": {},
            "otlp_grpc": {"endpoint": f"127.0.0.1:{peer}", "tls": {"insecure": True}},
        },
    )
    configuration["receivers"] = {"profiling": {"reporter_interval": "100ms"}}
    configuration["service"]["pipelines"]["profiles"]["receivers"] = ["profiling"]
    configuration["service"]["shutdown_timeout"] = "1s"
    run = start_profcol(configuration).wait_ready()
    url = f"http://localhost:{port}/status?verbose"
    wait_until(lambda: ask(url)[0] == 500, "an unhealthy exporter")
    status = ask_json(url, code=500)
    assert (status["status"], status["healthy"]) == ("StatusRecoverableError", False)
    parts = status["components"]["pipeline:profiles"]["components"]
    assert parts["exporter:debug"]["status"] == "StatusOK"
    exporter = parts["exporter:otlp_grpc"]
    assert exporter["status"] == "StatusRecoverableError" and not exporter["healthy"]
    assert "refused" in exporter["error"]
    assert exporter["status_time"] == status["status_time"] > status["start_time"]
    # For probes it is no reason to start anew what does not mend by that.
    assert ask(f"http://localhost:{port}/")[0] == 200
    run.process.terminate()
    run.wait_exit()


def test_probes_see_the_shutdown_while_the_last_batches_are_sent(start_profcol, burner):
    port = free_port()
    with socket.socket() as mute:
        mute.settimeout(BOUND_S)
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        endpoint = f"127.0.0.1:{mute.getsockname()[1]}"
        configuration = service(
            {"health_check": {"endpoint": f"localhost:{port}"}},
            exporters={"otlp_grpc": {"endpoint": endpoint, "tls": {"insecure": True}}},
        )
        configuration["receivers"] = {"profiling": {"reporter_interval": "100ms"}}
        configuration["service"]["pipelines"]["profiles"]["receivers"] = ["profiling"]
        # It ends when the test is done with asking, and not before.
        configuration["service"]["shutdown_timeout"] = "10m"
        run = start_profcol(configuration).wait_ready()
        with mute.accept()[0]:
            assert ask(f"http://localhost:{port}/")[0] == 200
            run.process.terminate()
            wait_until(lambda: ask(f"http://localhost:{port}/")[0] == 503, "the shutdown")
            probe = ask_json(f"http://localhost:{port}/", code=503)
            assert probe["status"] == "Server not available"
            url = f"http://localhost:{port}/status?verbose"
            wait_until(lambda: ask(url)[0] == 503, "components that stop")
            status = ask_json(url, code=503)
            assert status["status"] == "StatusStopping"
            assert status["components"]["extensions"]["status"] == "StatusOK"
            run.process.terminate()  # the second one ends it at once
            run.wait_exit()


class _Page(html.parser.HTMLParser):
    """Links and text of a page, which has to be balanced."""

    def __init__(self, text):
        super().__init__()
        self.links, self.open, self.text = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.sanitized
def test_pages_for_people(start_profcol):
    port = free_port()
    run = start_profcol(service({"zpages": {"endpoint": f"localhost:{port}"}})).wait_ready()
    code, headers, body = ask(f"http://localhost:{port}/debug/pipelinez")
    assert (code, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert headers["X-Content-Type-Options"] == "nosniff"
    page = _Page(body)
    assert {"profiles", "otlp", "debug", "OK"} <= set(page.text)
    assert len(page.links) == 4
    for link in page.links:
        code, _, body = ask(f"http://localhost:{port}{link}")
        assert code == 200
        _Page(body)
    code, _, body = ask(f"http://localhost:{port}/")
    assert code == 404
    assert _Page(body).links == page.links
    run.stop()


def test_a_port_in_use_is_one_clear_line(start_profcol):
    port = free_port()
    configuration = service({"health_check": {"endpoint": f"localhost:{port}"}})
    first = start_profcol(configuration).wait_ready()
    second = start_profcol(service({"health_check": {"endpoint": f"localhost:{port}"}}))
    assert second.wait_exit() == 1
    (line,) = (line for line in second.log.splitlines() if line.startswith("Error: "))
    assert f"endpoint: cannot listen at 'localhost:{port}': Address already in use" in line
    assert "extension 'health_check'" in line
    first.stop()


@pytest.mark.sanitized
def test_clients_that_misbehave_are_in_nobodys_way(start_profcol):
    port = free_port()
    run = start_profcol(service({"health_check": {"endpoint": f"127.0.0.1:{port}"}})).wait_ready()
    before = len(list(pathlib.Path(f"/proc/{run.pid}/fd").iterdir()))
    silent = [socket.create_connection(("127.0.0.1", port), timeout=BOUND_S) for _ in range(200)]
    for number, client in enumerate(silent):
        try:
            client.sendall(b"GET / HT" if number % 2 else b"\x16\x03\x01\0\0\r\n\r\n")
        except OSError:
            pass  # it had to make room
        if number % 20 == 0:
            assert ask(f"http://127.0.0.1:{port}/")[0] == 200
    descriptors = len(list(pathlib.Path(f"/proc/{run.pid}/fd").iterdir()))
    assert descriptors <= before + 64
    for client in silent:
        client.close()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_S)
    for method in ("POST", "PUT", "OPTIONS"):
        connection.request(method, "/", body=b"x" * 1000)
        reply = connection.getresponse()
        assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")
        reply.read()
    connection.request("HEAD", "/status")
    reply = connection.getresponse()
    assert reply.status == 200 and int(reply.headers["Content-Length"]) > 50 and not reply.read()
    run.stop()


def test_the_status_over_mutual_tls(start_profcol, tmp_path):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    for name in ("server", "client"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                "subjectAltName=DNS:localhost", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    port = free_port()
    tls = {
        "cert_file": str(tmp_path / "server.pem"),
        "key_file": str(tmp_path / "server.key"),
        "client_ca_file": str(tmp_path / "client.pem"),
        "min_version": "1.3",
    }
    health = {"endpoint": f"localhost:{port}", "tls": tls}
    run = start_profcol(service({"health_check": health})).wait_ready()
    context = ssl.create_default_context(cafile=tmp_path / "server.pem")
    with pytest.raises((ssl.SSLError, urllib.error.URLError, ConnectionError)):
        ask(f"https://localhost:{port}/", context=context)
    context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    code, _, body = ask(f"https://localhost:{port}/status", context=context)
    assert (code, json.loads(body)["status"]) == (200, "StatusOK")
    run.stop()


@pytest.mark.sanitized
def test_a_reload_moves_the_pages_and_nothing_else(start_profcol):
    first, second = free_port(), free_port()
    zpages = {"endpoint": f"localhost:{free_port()}"}

    def configuration(health):
        return base | {"extensions": {"health_check": health, "zpages": zpages}}

    def reload(health):
        run.configuration.write_text(json.dumps(configuration(health)))
        run.process.send_signal(signal.SIGHUP)

    def probed(port, path="/"):
        try:
            return ask(f"http://127.0.0.1:{port}{path}")[0]
        except OSError:
            return 0

    base = service({"health_check": {}, "zpages": zpages})
    base["service"]["telemetry"] = {"metrics": {"level": "none"}}
    run = start_profcol(configuration({"endpoint": f"localhost:{first}"})).wait_ready()
    # The same port, another page.
    reload({"endpoint": f"localhost:{first}", "path": "/health"})
    wait_until(lambda: probed(first, "/health") == 200 and probed(first) == 404, "the new page")
    reload({"endpoint": f"localhost:{second}"})
    wait_until(lambda: probed(second) == 200 and probed(first) == 0, "the new port")
    # What cannot be had leaves the old one as it is.
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", first))
        taken.listen()
        reload({"endpoint": f"localhost:{first}"})
        run.wait_logged(f"cannot listen at 'localhost:{first}'")
    wait_until(lambda: probed(second) == 200, "the old port again")
    assert probed(int(zpages["endpoint"].rpartition(":")[2]), "/debug/servicez") == 200
    run.stop()


@pytest.mark.parametrize(
    "health, message",
    [
        ({"endpoint": "localhost"}, "endpoint: address localhost: missing port in address"),
        ({"path": "health"}, "path: path must start with /"),
        ({"use_v2": True, "grpc": {}}, "grpc: profcol has no gRPC health service"),
        ({"auth": {"authenticator": "oidc"}}, "auth.authenticator: profcol has no authenticators"),
        ({"tls": {}}, "tls.cert_file: a server needs a certificate and its key"),
        ({"pathh": "/"}, "has invalid keys: pathh; did you mean 'path'?"),
    ],
)
def test_a_wrong_configuration_is_said_with_its_place(program, tmp_path, health, message):
    path = tmp_path / "pipeline.yaml"
    path.write_text(json.dumps(service({"health_check": health}), indent=1))
    result = subprocess.run(
        [program, "validate", "--config", path], capture_output=True, text=True, timeout=BOUND_S
    )
    assert result.returncode not in (0, 99)
    assert re.search(rf"pipeline\.yaml:\d+:\d+: .*{re.escape(message)}", result.stderr)
