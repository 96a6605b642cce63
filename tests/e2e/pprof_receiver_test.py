# SPDX-License-Identifier: Apache-2.0
"""The receiver `pprof`: what it reads, is sent and asks for comes out as it was."""
import base64
import contextlib
import gzip
import http.client
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid

import pytest

import pprof_content
import go_programs
from container_cgroup import ContainerCgroup
from free_port import free_port
from profcol_run import profile_paths
from waiting import wait_until

CORPUS = "tests/fuzz/corpus/pprof_decode_fuzz"
SHARED = "../shared/data"
REAL = [
    "go.cpu.labels.pprof",
    "dotnet.labels.pprof",
    "profile_java",
    "single_group_with_optional_span_id.pb.gz",
]
ACCEPTED = "otelcol_receiver_accepted_profile_samples"


def _configuration(receivers, exporters, pipelines):
    return {
        "receivers": receivers,
        "exporters": exporters,
        "service": {
            "shutdown_timeout": "1m",
            "pipelines": {
                f"profiles/{number}": {"receivers": [receiver], "exporters": [exporter]}
                for number, (receiver, exporter) in enumerate(pipelines)
            },
        },
    }


def _into(directory, receiver):
    """What `receiver` takes, in one file in `directory`."""
    return _configuration(
        {"pprof": receiver},
        {"pprof": {"directory": str(directory), "interval": "1h"}},
        [("pprof", "pprof")],
    )


def _only(directory):
    (path,) = profile_paths(directory)
    return pprof_content.read(path)


def _put(path, data):
    """A file that nobody has written to for a while."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    hidden.write_bytes(data)
    os.utime(hidden, times=(time.time() - 60,) * 2)
    hidden.rename(path)


@pytest.fixture(scope="module")
def samples(source):
    """Files with all that pprof can say, by name."""
    paths = sorted((source / CORPUS).glob("random_*"))
    files = {path.name: path.read_bytes() for path in paths}
    return {name: data for name, data in files.items() if pprof_content.parse(data).samples}


def _file_receiver(include):
    return {"file": {"include": str(include), "initial_delay": "0s", "collection_interval": "50ms"}}


# ---- files ----


def _assert_identity(start_profcol, tmp_path, files):
    """Each of `files` by way of OTLP into pprof again: in content the same."""
    receivers, exporters, pipelines = {}, {}, []
    for name, data in files.items():
        _put(tmp_path / "in" / name / "file", data)
        port = free_port()
        receivers[f"pprof/{name}"] = _file_receiver(tmp_path / "in" / name / "*")
        receivers[f"otlp/{name}"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
        exporters[f"otlp_http/{name}"] = {
            "endpoint": f"http://127.0.0.1:{port}",
            "retry_on_failure": {"initial_interval": "50ms"},  # who listens there starts later
        }
        directory = str(tmp_path / "out" / name)
        (tmp_path / "out").mkdir(exist_ok=True)
        exporters[f"pprof/{name}"] = {"directory": directory, "interval": "1h"}
        pipelines += [
            (f"pprof/{name}", f"otlp_http/{name}"),
            (f"otlp/{name}", f"pprof/{name}"),
        ]
    run = start_profcol(_configuration(receivers, exporters, pipelines)).wait_ready()
    for name in files:
        wait_until(lambda: run.metrics().value(ACCEPTED, receiver=f"otlp/{name}"), f"{name} to arrive")
    run.stop()
    for name, data in files.items():
        assert _only(tmp_path / "out" / name) == pprof_content.parse(data), name


@pytest.mark.sanitized
def test_what_pprof_can_say_passes_otlp(start_profcol, samples, tmp_path):
    _assert_identity(start_profcol, tmp_path, samples)


def test_real_files_pass_otlp(start_profcol, source, tmp_path):
    paths = [(source / SHARED / name).resolve() for name in REAL]
    if not all(path.exists() for path in paths):
        pytest.skip(f"no {SHARED} here")
    _assert_identity(start_profcol, tmp_path, {path.name: path.read_bytes() for path in paths})


def test_files_are_read_once_and_new_ones_followed(start_profcol, samples, tmp_path):
    data = samples["random_10.pb"]
    inbox = tmp_path / "in"
    _put(inbox / "deep/er/first.pb", data)
    _put(inbox / "broken.pb", b"nonsense")
    run = start_profcol(_into(tmp_path / "out", _file_receiver(inbox / "**/*.pb"))).wait_ready()
    wait_until(lambda: run.metrics().value(ACCEPTED), "the first")
    once = run.metrics().value(ACCEPTED)
    (inbox / "deep/er/first.pb").rename(inbox / "renamed.pb")
    _put(inbox / "second.pb", gzip.compress(data))
    wait_until(lambda: run.metrics().value(ACCEPTED) > once, "the second")
    _put(inbox / "third.pb", b"worse")
    # A look at all of them ends before the next one begins.
    wait_until(lambda: run.metrics().value("profcol_pprof_unread") == 2, "the third")
    run.stop()
    assert _only(tmp_path / "out").samples == pprof_content.parse(data).times(2).samples
    assert run.log.count("cannot take a profile of") == 1
    assert "in/broken.pb: not a pprof file" in run.log


def test_the_next_start_reads_what_is_new(start_profcol, samples, tmp_path):
    data = samples["random_10.pb"]
    receiver = _file_receiver(tmp_path / "in/*")
    receiver["file"]["state_directory"] = str(tmp_path / "state")
    _put(tmp_path / "in/first", data)
    run = start_profcol(_into(tmp_path / "out", receiver)).wait_ready()
    wait_until(lambda: run.metrics().value(ACCEPTED), "the first")
    run.stop()
    _put(tmp_path / "in/second", b"broken")
    run = start_profcol(_into(tmp_path / "out", receiver)).wait_ready()
    wait_until(lambda: run.metrics().value("profcol_pprof_unread"), "the second")
    run.stop()
    assert run.balance().taken == 0


# ---- clients ----


def _post(port, body, path="/v1/pprof", method="POST", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


@pytest.mark.sanitized
def test_what_is_posted_is_taken_or_refused(start_profcol, samples, tmp_path):
    port = free_port()
    receiver = {"server": {"endpoint": f"127.0.0.1:{port}", "max_request_body_size": "1MiB"}}
    run = start_profcol(_into(tmp_path / "out", receiver)).wait_ready()
    data = samples["random_10.pb"]
    packed = gzip.compress(data)
    assert _post(port, data) == (204, "")
    assert _post(port, packed, **{"Content-Type": "application/octet-stream"}) == (204, "")
    assert _post(port, gzip.compress(packed), **{"Content-Encoding": "gzip"}) == (204, "")
    for body, status, words in [
        (b"", 400, "empty"),
        (b"nonsense", 400, "not a pprof file"),
        (packed[:-9], 400, "cut short"),
        (data + data, 400, ""),
        (gzip.compress(bytes(64 << 20)), 400, "gzip holds more than"),
        (bytes((1 << 20) + 1), 413, "max_request_body_size"),
    ]:
        got, text = _post(port, body)
        assert got == status and words in text, (got, text)
    assert _post(port, None, method="GET")[0] == 405
    assert _post(port, data, path="/v1/other")[0] == 404
    run.stop()
    assert _only(tmp_path / "out").samples == pprof_content.parse(data).times(3).samples


# ---- servers ----


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Authorization"]))
        body = self.server.pages.get(self.path)
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(body or b"no such profile")

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def _serving(pages):
    """A server of `pages`, whose `asked` tells what was asked for."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.pages, server.asked = pages, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _labels(content):
    return {dict((key, value) for key, value, _ in labels)["profile"] for _, labels in content.samples}


def test_servers_are_asked_for_what_is_configured(start_profcol, samples, tmp_path):
    token = "Basic " + base64.b64encode(b"shop:secret").decode()
    pages = {
        "/debug/pprof/heap": samples["random_10.pb"],
        "/debug/pprof/profile?seconds=3": samples["random_10.pb"],
    }
    with _serving(pages) as first, _serving(pages) as second:
        remote = {
            "endpoint": f"http://127.0.0.1:{first.server_port}",
            "endpoints": [f"http://127.0.0.1:{second.server_port}/debug/pprof/"],
            "profiles": ["heap", "profile", "mutex"],
            "profile_duration": "3s",
            "initial_delay": "0s",
            "collection_interval": "1h",
            "headers": {"authorization": token},
        }
        run = start_profcol(_into(tmp_path / "out", {"remote": remote})).wait_ready()
        wait_until(lambda: run.log.count("cannot get a profile") == 2, "what is not there")
        for server in first, second:
            wait_until(lambda: len(server.asked) == 3, "all to be asked for")
        wait_until(lambda: run.metrics().value("profcol_pprof_unread") == 2, "the books")
        run.stop()
    paths = {*pages, "/debug/pprof/mutex"}
    for server in first, second:
        assert set(server.asked) == {(path, token) for path in paths}
    assert "HTTP status 404: no such profile" in run.log
    assert "secret" not in run.log and token not in run.log
    content = _only(tmp_path / "out")
    assert _labels(content) == {"heap", "profile"}
    ports = {dict((key, value) for key, value, _ in labels)["server.port"] for _, labels in content.samples}
    assert ports == {first.server_port, second.server_port}


def test_servers_behind_one_gateway_are_told_apart(start_profcol, samples, tmp_path):
    pages = {f"/{name}/debug/pprof/heap": samples["random_10.pb"] for name in ("app1", "app2")}
    with _serving(pages) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        remote = {
            "endpoints": [f"{url}/app1", f"{url}/app2"],
            "profiles": ["heap"],
            "initial_delay": "0s",
            "collection_interval": "1h",
        }
        run = start_profcol(_into(tmp_path / "out", {"remote": remote})).wait_ready()
        wait_until(lambda: run.metrics().value("profcol_pprof_scrapes") == 2, "both")
        run.stop()
    content = _only(tmp_path / "out")
    paths = {dict((key, value) for key, value, _ in labels).get("url.path") for _, labels in content.samples}
    assert paths == {"/app1", "/app2"}


def test_a_server_that_does_not_answer_is_left_and_asked_again(start_profcol, tmp_path, samples):
    page = "/debug/pprof/heap"
    with _serving({}) as server:
        remote = {
            "endpoint": f"http://127.0.0.1:{server.server_port}{page}",
            "initial_delay": "0s",
            "collection_interval": "20ms",
        }
        run = start_profcol(_into(tmp_path / "out", {"remote": remote})).wait_ready()
        wait_until(lambda: len(server.asked) > 2, "several attempts")
        server.pages[page] = samples["random_10.pb"]
        run.wait_logged("gives profiles again")
        run.stop()
    assert run.log.count("cannot get a profile") == 1
    assert _labels(_only(tmp_path / "out")) == {"heap"}


# Serves the file at argv[2] for every path, at a port of its own, which it writes to argv[1].
_KEEPING_SERVER = """
import http.server, os, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = pathlib.Path(sys.argv[2]).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port = pathlib.Path(sys.argv[1])
hidden = port.with_suffix(".new")
hidden.write_text(str(server.server_port))
hidden.rename(port)
server.serve_forever()
"""


def test_a_server_in_a_container_is_told_by_its_container(start_profcol, samples, tmp_path):
    uid, identity = str(uuid.uuid4()), uuid.uuid4().hex * 2
    (tmp_path / "page").write_bytes(samples["random_10.pb"])
    container = ContainerCgroup(uid, identity)
    try:
        command = [sys.executable, "-c", _KEEPING_SERVER, tmp_path / "port", tmp_path / "page"]
        container.start(*command)
        wait_until((tmp_path / "port").exists, "the server")
        remote = {
            "endpoint": f"http://127.0.0.1:{(tmp_path / 'port').read_text()}",
            "profiles": ["heap"],
            "initial_delay": "0s",
            "collection_interval": "50ms",
        }
        run = start_profcol(_into(tmp_path / "out", {"remote": remote})).wait_ready()
        # A search that had no time is made again after ten seconds.
        wait_until(lambda: run.metrics().value("profcol_pprof_owners", finding="found"), "its owner")
        run.stop()
    finally:
        container.remove()
    told = [
        {(key, value) for key, value, _ in labels}
        for _, labels in _only(tmp_path / "out").samples
    ]
    # Some have a label `container.id` of their own.
    assert any({("container.id", identity), ("k8s.pod.uid", uid)} <= labels for labels in told)


GO_SERVER = """\
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"sync"
	"time"
)

var kept [][]byte

//go:noinline
func keepMemory() { kept = append(kept, make([]byte, 1<<20)) }

//go:noinline
func contend(lock *sync.Mutex) {
	for {
		lock.Lock()
		for begin := time.Now(); time.Since(begin) < time.Millisecond; {
		}
		lock.Unlock()
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	runtime.MemProfileRate = 1
	for i := 0; i < 8; i++ {
		keepMemory()
	}
	runtime.GC() // the profile of the heap is that of the last one
	runtime.GC()
	var lock sync.Mutex
	go contend(&lock)
	go contend(&lock)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	panic(http.Serve(listener, nil))
}
"""


@pytest.fixture
def go_server(start_target, tmp_path):
    """The address of a program in Go that shows its profiles."""
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not installed")
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "main.go").write_text(GO_SERVER)
    (sources / "go.mod").write_text("module shop\n\ngo 1.19\n")
    program = go_programs.build(go, sources, tmp_path / "shop")
    target = start_target(program, stdout=subprocess.PIPE)
    return target.process.stdout.readline().decode().strip()


@pytest.mark.thorough
def test_a_program_in_go_shows_all_its_profiles(start_profcol, go_server, tmp_path):
    names = ["profile", "heap", "allocs", "goroutine", "threadcreate", "mutex", "block"]
    remote = {
        "endpoint": f"http://{go_server}",
        "profiles": names,
        "profile_duration": "1s",
        "initial_delay": "1s",
        "collection_interval": "1h",
    }
    run = start_profcol(_into(tmp_path / "out", {"remote": remote})).wait_ready()
    wanted = {"profile", "heap", "allocs", "goroutine", "mutex", "block"}

    def scraped():
        return run.metrics().value("profcol_pprof_scrapes") == len(names)

    wait_until(scraped, "all profiles")
    run.stop()
    content = _only(tmp_path / "out")
    assert wanted <= _labels(content)
    types = dict(content.columns)
    assert types["inuse_space"] == "bytes" and types["contentions"] == "count"
    column = [kind for kind, _ in content.columns].index("inuse_space")
    held = sum(
        values[column]
        for (stack, labels), values in content.samples.items()
        if ("profile", "heap", "") in labels
        and any(line[0][0] == "main.keepMemory" for place in stack for line in place[2])
    )
    assert held >> 20 == 8
