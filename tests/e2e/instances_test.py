# SPDX-License-Identifier: Apache-2.0
"""Two of them on one machine, and what one cannot have since it is another's, or not allowed."""
import os
import socket

import pytest

from free_port import free_port
from profcol_run import pipeline


def _gateway(directory, port):
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"pprof": {"directory": str(directory)}},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["pprof"]}}},
    }


def _stored(directory):
    return {
        "receivers": {"profiling": {}},
        "exporters": {
            "otlp_grpc": {
                "endpoint": "127.0.0.1:1",
                "tls": {"insecure": True},
                "sending_queue": {"storage": "file_storage"},
            },
        },
        "extensions": {"file_storage": {"directory": str(directory), "create_directory": True}},
        "service": {
            "extensions": ["file_storage"],
            "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["otlp_grpc"]}},
        },
    }


def _refusal(run):
    """The one line that says why it does not start."""
    assert run.wait_exit() == 1, run.log
    lines = [line for line in run.log.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, run.log
    return lines[0]


def test_two_profilers_beside_each_other(start_profcol_apart, burner_apart, tmp_path):
    runs = [start_profcol_apart(pipeline(tmp_path / name)).wait_ready() for name in ("a", "b")]
    burner_apart.wait_burnt(300)
    for run in runs:
        run.stop()
        assert run.balance().exported > 0
        assert run.balance().lost_on_the_way == 0


def test_a_port_in_use(start_profcol, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        line = _refusal(start_profcol(_gateway(tmp_path / "out", port)))
    assert "cannot start pipelines: receiver 'otlp': " in line
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line


def test_a_port_of_the_other_one(start_profcol, tmp_path):
    port = free_port()
    first = start_profcol(_gateway(tmp_path / "a", port)).wait_ready()
    line = _refusal(start_profcol(_gateway(tmp_path / "b", port)))
    assert f"127.0.0.1:{port}" in line and "in use" in line
    first.stop()


def test_a_metrics_port_in_use(start_profcol, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        configuration = pipeline(tmp_path / "out")
        reader = {"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": port}}}}
        configuration["service"]["telemetry"] = {"metrics": {"readers": [reader]}}
        line = _refusal(start_profcol(configuration))
    assert f"127.0.0.1:{port}" in line and "in use" in line


def test_a_queue_of_the_other_one(start_profcol, tmp_path):
    first = start_profcol(_stored(tmp_path / "queue")).wait_ready()
    line = _refusal(start_profcol(_stored(tmp_path / "queue")))
    assert "cannot start pipelines: extension 'file_storage': " in line
    assert str(tmp_path / "queue") in line
    first.stop()


@pytest.mark.parametrize("kind", ["pprof", "file_storage"])
def test_a_directory_that_cannot_be_written_to(start_profcol, tmp_path, kind):
    directory = "/proc/self/fdinfo"  # there, and nobody may make a file in it
    assert os.path.isdir(directory)
    configuration = pipeline(directory) if kind == "pprof" else _stored(directory)
    line = _refusal(start_profcol(configuration))
    assert f"'{kind}': " in line
    assert directory in line


def test_a_profiler_that_may_fail_lets_the_others_go_on(start_profcol, tmp_path):
    """error_mode: ignore, without the rights to profile; the gateway beside it works."""
    port = free_port()
    configuration = _gateway(tmp_path / "out", port)
    configuration["receivers"]["profiling"] = {"error_mode": "ignore"}
    configuration["service"]["pipelines"]["profiles"]["receivers"].append("profiling")
    bare = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
    run = start_profcol(configuration, prefix=bare).wait_ready()
    assert "given up, the other components go on" in run.log
    with socket.create_connection(("127.0.0.1", port)):
        pass
    run.stop()

    configuration["receivers"]["profiling"] = {}
    line = _refusal(start_profcol(configuration, prefix=bare))
    assert "receiver 'profiling'" in line
