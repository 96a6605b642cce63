# SPDX-License-Identifier: Apache-2.0
"""Another configuration for a program that runs: what is restarted, and what is not."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket

import pytest

from free_port import free_port
from own_pids import own_pids
from profcol_run import pipeline, read_profile, with_metrics
from profile_files import Samples
from settling import settled
from target_run import Target
from waiting import wait_until

_DONE = "Config reload complete."
_FAILED = "Config reload failed, the configuration of before goes on unchanged"
_PUT_BACK = "Config reload failed, the configuration of before runs again"

_LOUD = {"logs": {"sampling": {"enabled": False}}}  # every line counts


def _two_pipelines(directory, changing, name="debug", **receiver):
    """The profiler into a file all the time, and into `changing` beside it."""
    exporters = {"pprof": {"directory": str(directory), "interval": "1h"}, name: changing}
    receiver = {"samples_per_second": 199, "reporter_interval": "100ms"} | receiver
    configuration = pipeline(
        receiver=receiver,
        exporters=exporters,
        pipelines={
            "profiles": {"receivers": ["profiling"], "exporters": ["pprof"]},
            "profiles/changing": {"receivers": ["profiling"], "exporters": [name]},
        },
    )
    configuration["service"]["telemetry"] = _LOUD
    return configuration


def _write(run, configuration):
    if not isinstance(configuration, str):
        configuration = json.dumps(with_metrics(configuration, run.metrics_port))
    replacement = run.configuration.with_suffix(".new")
    replacement.write_text(configuration)
    replacement.rename(run.configuration)


def _reload(run, configuration, outcome=_DONE):
    """Until the reload is over."""
    before = run.log.count(outcome)
    _write(run, configuration)
    run.process.send_signal(signal.SIGHUP)

    def over():
        assert run.is_running(), run.log
        return run.log.count(outcome) > before

    wait_until(over, f"'{outcome}' once more in:\n{run.log[-2000:]}")


def _is_slab(run, descriptor):
    """Whether it is a map that holds unwind tables: those of the programs that were met."""
    text = pathlib.Path(f"/proc/{run.pid}/fdinfo/{descriptor}").read_text()
    return re.search(r"^value_size:\s*32256$", text, re.MULTILINE) is not None


def _descriptors(run, directory):
    """Those that a reload may leave open: all but what belongs to other programs, their files and
    unwind tables, which the profiler opens and makes as it meets them."""
    own = ("socket:", "pipe:", "anon_inode:", str(directory))
    count = 0
    for path in pathlib.Path(f"/proc/{run.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(path).startswith(own) and not _is_slab(run, path.name)
    return count


# Threads of gRPC's, which it starts as it needs them, and keeps when the exporter has gone.
_GRPC_THREADS = {
    "default-executor",
    "resolver-executor",
    "grpc_global_timer",
    "event_engine",
    "timer_manager",
}

# Threads that are made as there is work, and how many there may be of them.
_ON_DEMAND_MOST = {
    "files": 36,  # THREADS_MOST in receiver/ebpf/processes/timed_calls.c
    "close": 4,  # THREADS_MOST in lib/base/close_later.c
}


def _threads(run):
    """Names of the profiler's own."""
    kept = {name[:15] for name in _GRPC_THREADS}  # as long as the kernel lets a name be
    names = []
    for path in pathlib.Path(f"/proc/{run.pid}/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(path.read_text().strip())
    return sorted(name for name in names if name not in kept)


def _lasting_threads(run):
    """Those that a reload must not leave behind. One that was just made has the name of its maker,
    and one that was joined may still be listed: both only for a moment."""
    return [name for name in _threads(run) if name not in _ON_DEMAND_MOST]


def _figures(run, directory):
    """(descriptors, resident bytes)"""
    process = pathlib.Path(f"/proc/{run.pid}")
    pages = int((process / "statm").read_text().split()[1])
    return _descriptors(run, directory), pages * os.sysconf("SC_PAGE_SIZE")


def _is_sanitized(run):
    return "libasan" in pathlib.Path(f"/proc/{run.pid}/maps").read_text()


# New processes all the time, for a while: no more than 200 each second.
_FORKS = "i=0; while [ $i -lt 4000 ]; do sleep 0.005; i=$((i+1)); done"


@pytest.fixture
def profile_beside_load(build_target, start_profcol):
    """start_profcol() beside a load, every CPU busy and processes that come and go, and nothing
    else: the memory for programs that others start is not a reload's.
    """
    burn = build_target("burn")
    with own_pids() as alone, contextlib.ExitStack() as stack:
        for command in [(burn,)] * len(os.sched_getaffinity(0)) + [("sh", "-c", _FORKS)]:
            target = alone.within(Target)(*command)
            stack.callback(target.kill)
        yield lambda configuration: alone.within(start_profcol)(configuration, prefix=alone.prefix)


def test_a_hundred_reloads_under_load(profile_beside_load, tmp_path):
    nobody = {
        "endpoint": "127.0.0.1:1",
        "tls": {"insecure": True},
        "sending_queue": {"queue_size": 100},
    }
    variants = [
        _two_pipelines(tmp_path / "out", {"verbosity": "basic"}),
        _two_pipelines(tmp_path / "out", {"directory": str(tmp_path / "b")}, "pprof/b"),
        _two_pipelines(tmp_path / "out", nobody, "otlp_grpc"),
    ]
    # So long an exporter may try to reach nobody. The others have their time: nothing of theirs is
    # lost, though every CPU is busy. The last one of all is one of them.
    variants[2]["service"]["shutdown_timeout"] = "500ms"
    run = profile_beside_load(variants[0]).wait_ready()
    for cycle in range(1, 101):
        _reload(run, variants[cycle % 3])
        if cycle == 30:
            threads = settled(lambda: _lasting_threads(run), "threads")
            early_descriptors, early_resident = _figures(run, tmp_path)
        if cycle == 99:  # with the same variant
            what = f"just the threads of before, {threads}"
            wait_until(lambda: _lasting_threads(run) == threads, what)  # a leaked one stays
            descriptors, resident = _figures(run, tmp_path)
            every = _threads(run)
    for name, most in _ON_DEMAND_MOST.items():
        assert every.count(name) <= most, name
    # A reload that leaks one makes 70.
    assert descriptors < early_descriptors + 10
    if not _is_sanitized(run):  # a sanitizer keeps what is freed
        assert resident < early_resident + (4 << 20), f"{early_resident} bytes at first"
    run.stop()

    balances = run.balances_by_exporter()
    assert set(balances) == {"pprof", "debug", "otlp_grpc", "pprof/b"}
    for name, balance in balances.items():
        balance.check()
        assert balance.lost_on_the_way == 0 or name == "otlp_grpc", name
    assert balances["pprof"].exported > 0
    assert balances["otlp_grpc"].taken > 0
    # One file, of all the time: the exporter has never been restarted.
    assert read_profile(tmp_path / "out").count == balances["pprof"].exported
    stopped = [line for line in run.log.splitlines() if "Stopping" in line]
    assert len(stopped) == 100 and not any("receiver" in line for line in stopped)


def test_only_what_changed_is_restarted(start_profcol, tmp_path):
    run = start_profcol(_two_pipelines(tmp_path / "out", {})).wait_ready()
    _reload(run, _two_pipelines(tmp_path / "out", {}))
    assert "Config updated, 3 components go on as they are" in run.log
    assert "Stopping" not in run.log

    _reload(run, _two_pipelines(tmp_path / "out", {"verbosity": "normal"}))
    assert "Stopping 1 components: exporter 'debug'" in run.log
    assert "Starting 1 components: exporter 'debug'" in run.log

    workers = run.children()
    _reload(run, _two_pipelines(tmp_path / "out", {"verbosity": "normal"}, samples_per_second=49))
    assert "Stopping 1 components: receiver 'profiling'" in run.log
    assert not set(workers) & set(run.children())
    run.stop()


def test_a_bad_configuration_leaves_the_old_one(start_profcol, burner, tmp_path):
    good = _two_pipelines(tmp_path / "out", {})
    run = start_profcol(good).wait_ready()
    bad = _two_pipelines(tmp_path / "out", {"verbosity": "loud"}, samples_per_second="many")
    for broken in (bad, "receivers: [", "", "service:\n\tpipelines:"):
        _reload(run, broken, _FAILED)
    lines = [line for line in run.log.splitlines() if "\terror\t" in line]
    assert any("debug" in line and "verbosity" in line for line in lines), lines
    assert any("samples_per_second" in line for line in lines), lines
    assert "Stopping" not in run.log
    run.configuration.unlink()
    before = run.log.count(_FAILED)
    run.process.send_signal(signal.SIGHUP)
    wait_until(lambda: run.log.count(_FAILED) > before, "a refusal of a file that is not there")

    _reload(run, good)
    metrics = run.metrics()
    assert metrics.value("profcol_config_reloads", result="refused") == 5
    assert metrics.value("profcol_config_reloads", result="taken") == 1
    burner.wait_burnt(200)
    run.stop()
    assert all(balance.lost_on_the_way == 0 for balance in run.balances())


def _gateway(port, directory, **sections):
    configuration = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"pprof": {"directory": str(directory)}},
        "service": {
            "telemetry": _LOUD,
            "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["pprof"]}},
        },
    }
    return configuration | sections


def _is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_port_that_is_taken_brings_the_old_one_back(start_profcol, tmp_path):
    old, new = free_port(), free_port()
    run = start_profcol(_gateway(old, tmp_path / "out")).wait_ready()
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        _reload(run, _gateway(taken, tmp_path / "out"), _PUT_BACK)
        assert "going back to the old configuration" in run.log
        assert f"127.0.0.1:{taken}" in run.log
        wait_until(lambda: _is_open(old), "the old port open again")

    _reload(run, _gateway(new, tmp_path / "out"))
    assert _is_open(new)
    assert not _is_open(old)
    # The same port by another name.
    _reload(
        run,
        _gateway(
            new,
            tmp_path / "out",
            receivers={"otlp/2": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{new}"}}}},
            service={
                "telemetry": _LOUD,
                "pipelines": {"profiles": {"receivers": ["otlp/2"], "exporters": ["pprof"]}},
            },
        ),
    )
    assert _is_open(new)
    run.stop()


def _stored(directory, storage, endpoint="127.0.0.1:1"):
    return {
        "receivers": {"profiling": {"samples_per_second": 99, "reporter_interval": "100ms"}},
        "exporters": {
            "otlp_grpc": {
                "endpoint": endpoint,
                "tls": {"insecure": True},
                "sending_queue": {"storage": "file_storage"},
            },
        },
        "extensions": {
            "file_storage": {"directory": str(directory / storage), "create_directory": True}
        },
        "service": {
            "telemetry": _LOUD,
            "extensions": ["file_storage"],
            "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["otlp_grpc"]}},
        },
    }


def test_a_queue_on_disk_changes_hands(start_profcol, burner, tmp_path):
    run = start_profcol(_stored(tmp_path, "a")).wait_ready()
    burner.wait_burnt(300)
    # The same queue, for another exporter instance: the old one lets go of it first.
    _reload(run, _stored(tmp_path, "a", "127.0.0.1:2"))
    assert "Stopping 1 components: exporter 'otlp_grpc'" in run.log
    # Another directory: who uses it goes along, though its own section is the same.
    _reload(run, _stored(tmp_path, "b", "127.0.0.1:2"))
    assert "Stopping 2 components: " in run.log
    burner.wait_burnt(300)
    run.stop()
    assert run.balance().lost_on_the_way == 0
    assert run.balance().stored > 0


def test_the_log_changes_at_once(start_profcol, tmp_path):
    configuration = _gateway(free_port(), tmp_path / "out")
    run = start_profcol(configuration).wait_ready()
    configuration["service"]["telemetry"] = {"logs": {"encoding": "json", "level": "debug"}}
    _reload(run, configuration)
    record = json.loads(run.log.splitlines()[-1])
    assert record["msg"] == _DONE
    assert "Config updated, 2 components go on as they are" in run.log
    run.stop()


def test_the_metrics_move_to_another_port(start_profcol, tmp_path):
    configuration = _gateway(free_port(), tmp_path / "out")
    run = start_profcol(configuration).wait_ready()
    old = run.metrics_port
    assert _is_open(old)
    run.metrics_port = free_port()
    _reload(run, configuration)
    assert _is_open(run.metrics_port)
    assert not _is_open(old)
    with socket.create_server(("127.0.0.1", 0)) as other:
        run.metrics_port, kept = other.getsockname()[1], run.metrics_port
        _reload(run, configuration, _FAILED)
    assert _is_open(kept)
    run.stop()


def test_other_plugins_need_a_restart(start_profcol, tmp_path):
    configuration = _gateway(free_port(), tmp_path / "out")
    run = start_profcol(configuration).wait_ready()
    configuration["service"]["plugins"] = [str(tmp_path / "plugins")]
    for _ in range(2):  # as long as it is so
        _reload(run, configuration)
    assert run.log.count("service::plugins has changed, which needs a restart") == 2
    run.stop()


# By interpreter: a program of tests/targets/made_names, and what its function is called.
_RUNTIMES = {
    "python": (["/usr/bin/python3", "hot_python.py"], "innermost"),
    "v8": (["node", "hot.js"], "innermost"),
    "hotspot": (["java", "-cp", ".", "Hot.java"], "Hot.innermost"),
}


@pytest.mark.parametrize(
    "interpreter",
    [
        pytest.param(name, marks=() if name == "python" else pytest.mark.thorough)
        for name in _RUNTIMES
    ],
)
def test_a_runtime_is_switched_off_and_on(
    source, start_profcol, start_target, tmp_path, interpreter
):
    command, name = _RUNTIMES[interpreter]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}; run: scripts/setup.sh test")
    target = start_target(*command, cwd=source / "tests/targets/made_names")
    samples = Samples(tmp_path / "out")

    def configuration(disabled):
        exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
        receiver = {"interpreters": {interpreter: {"disabled": disabled}}}
        return pipeline(receiver=receiver, exporters=exporters)

    def new_names(known):
        return {called for sample in samples.of(target.pid)[known:] for called in sample.names}

    run = start_profcol(configuration(True)).wait_ready()
    for disabled in (True, False, True):
        _reload(run, configuration(disabled))
        samples.wait_latest()
        known = len(samples.of(target.pid))
        if disabled:
            target.wait_burnt(1000)
            samples.wait_latest()
            assert len(samples.of(target.pid)) > known and name not in new_names(known)
        else:
            wait_until(lambda: name in new_names(known), f"'{name}' of {interpreter}")
