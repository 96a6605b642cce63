# SPDX-License-Identifier: Apache-2.0
"""The profile of system calls: with it everything works, and it forbids what it does not name.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

import prometheus_text
from free_port import free_port
from profcol_run import profile_paths, read_profile
from waiting import wait_until

PROFILE = "deploy/seccomp/profcol.json"
NEEDED = "bpf,perfmon,sys_ptrace,dac_read_search,checkpoint_restore,syslog"
CALL = re.compile(r"^\d+ +(\w+)\(", re.MULTILINE)


def confined(source, default):
    """A command prefix: as in the image's container specification, but for its root."""
    script = pathlib.Path(__file__).with_name("container.py")
    calls = ["--seccomp", source / PROFILE, "--seccomp-default", default]
    return ["/usr/bin/python3", script, "--capabilities", NEEDED, *calls, "--"]


def configuration(directory, ports, rate=99):
    """The profiler sends to its own receiver, through a queue on disk, and from there to files."""
    sender = {
        "endpoint": f"localhost:{ports['otlp']}",
        "tls": {"insecure": True},
        "sending_queue": {"storage": "file_storage"},
    }
    queue = {"directory": str(directory / "queue"), "create_directory": True, "fsync": True}
    return {
        "receivers": {
            "profiling": {"samples_per_second": rate, "reporter_interval": "500ms"},
            "otlp": {"protocols": {"grpc": {"endpoint": f"localhost:{ports['otlp']}"}}},
        },
        "processors": {
            "memory_limiter": {"check_interval": "1s", "limit_mib": 1024},
            "resource_detection": {"detectors": ["env", "system"]},
        },
        "exporters": {
            "otlp_grpc": sender,
            "pprof": {"directory": str(directory / "out"), "interval": "1h"},
            "debug": {"top": 3, "use_internal_logger": False},
        },
        "extensions": {
            "file_storage": queue,
            "health_check": {"endpoint": f"localhost:{ports['health']}"},
            "zpages": {"endpoint": f"localhost:{ports['pages']}"},
        },
        "service": {
            "shutdown_timeout": "20s",  # recording is slow
            "extensions": ["file_storage", "health_check", "zpages"],
            "pipelines": {
                "profiles/out": {
                    "receivers": ["profiling"],
                    "processors": ["memory_limiter", "resource_detection"],
                    "exporters": ["otlp_grpc"],
                },
                "profiles/in": {"receivers": ["otlp"], "exporters": ["pprof", "debug"]},
            },
        },
    }


def get(port, path):
    with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=300) as reply:
        return reply.read()


def go_through_everything(start_profcol, start_target, burn, directory, prefix):
    """Start, profile, send, receive, pages, a killed worker, a reload of either kind, the end. What
    becomes of it: the run, its profile, and the two programs that were to be profiled.
    """
    names = ("otlp", "health", "pages", "metrics")
    ports = {name: free_port() for name in names}
    before, after = (configuration(directory, ports, rate) for rate in (99, 49))
    for each in (before, after):
        readers = [prometheus_text.reader(ports["metrics"])]
        each["service"]["telemetry"] = {"metrics": {"readers": readers}}
    target = start_target(shutil.copy(burn, directory / "first"))
    run = start_profcol(before, directory / "run", prefix, ["--watch-config"]).wait_ready()
    target.wait_burnt(500)
    assert b"Server available" in get(ports["health"], "/")
    get(ports["pages"], "/debug/pipelinez")

    def starts():
        metrics = prometheus_text.Metrics(prometheus_text.scrape(ports["metrics"]))
        return metrics.value("profcol_worker_starts")

    wait_until(run.children, "a worker")
    known = starts()
    for worker in run.children():
        with contextlib.suppress(ProcessLookupError):  # one ends by itself when it is idle
            os.kill(worker, signal.SIGKILL)
    second = start_target(shutil.copy(burn, directory / "second"))
    wait_until(lambda: starts() > known, "another worker")
    run.configuration.write_text(json.dumps(after))
    wait_until(lambda: run.log.count("eload") > 0, "a reload")
    run.process.send_signal(signal.SIGHUP)
    second.wait_burnt(1000)
    run.stop()
    assert profile_paths(directory / "out")
    return run, read_profile(directory / "out"), target, second


def named_by(profile):
    """The calls that the profile names, with conditions or without."""
    return {name for rule in json.loads(profile.read_text())["syscalls"] for name in rule["names"]}


def test_it_names_calls_that_are_rare(source):
    # The C library wraps the others; of those a run shows nearly all.
    parts = ["host", "receiver", "lib", "exporters", "extensions", "processors"]
    texts = [path.read_text() for part in parts for path in (source / part).rglob("*.c")]
    written = {name for text in texts for name in re.findall(r"syscall\(SYS_(\w+)", text)}
    assert {"bpf", "openat2"} <= written
    assert written - named_by(source / PROFILE) == set()


@pytest.mark.thorough
def test_it_names_every_call_of_a_run(start_profcol, start_target, burn, source, tmp_path):
    # By a grandchild: the program keeps its parent, and the signals that are meant for it.
    recorder = ["strace", "-D", "-f", "-qq", "-s", "0", "-o", tmp_path / "calls"]
    go_through_everything(start_profcol, start_target, burn, tmp_path, recorder)
    made = set(CALL.findall((tmp_path / "calls").read_text()))
    assert len(made) > 50, made
    assert made - named_by(source / PROFILE) == set()


def test_everything_works_under_it(start_profcol, start_target, burn, source, tmp_path):
    # Whatever it does not name ends the process.
    prefix = confined(source, "SCMP_ACT_KILL_PROCESS")
    run, profile, *targets = go_through_everything(
        start_profcol, start_target, burn, tmp_path, prefix
    )
    for target in targets:
        assert any("burn_leaf" in sample.names for sample in profile.of_pid(target.pid))
    for balance in run.balances():
        assert balance.dropped == {}, balance


@pytest.mark.parametrize("command", [["chroot", "/"], ["unshare", "--user", "true"]])
def test_what_it_does_not_name_is_refused(source, command):
    path, *arguments = shutil.which(command[0]), *command[1:]
    prefix = confined(source, "SCMP_ACT_ERRNO")
    result = subprocess.run([*prefix, path, *arguments], capture_output=True, text=True)
    assert result.returncode != 0
    assert "Operation not permitted" in result.stderr
