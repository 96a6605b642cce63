# SPDX-License-Identifier: Apache-2.0
"""The peers themselves: what other tests build upon."""
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import time

import pytest

from collectors import Gateway, Reference, Sink, inspect, inspect_summary, inspect_text

CAPTURE = "../shared/data/otlp-1.10-ebpf-profile.bin"
OLD = "../shared/data/profile.otlp"
DEBUGFS = "mount -t debugfs none /sys/kernel/debug"


@pytest.fixture
def capture(source):
    path = (source / CAPTURE).resolve()
    if not path.exists():
        pytest.skip(f"no {CAPTURE} here")
    return path


def post(address, body, **headers):
    """POST a request; the status."""
    connection = http.client.HTTPConnection(address, timeout=300)
    headers = {"Content-Type": "application/x-protobuf"} | headers
    connection.request("POST", "/v1development/profiles", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def run_script(source, *arguments, **environment):
    return subprocess.run(
        [source / "scripts/peers.sh", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def test_our_own_tools(source, peer):
    peer("sink")
    result = run_script(source, "--test")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_missing_peer_is_named_with_the_remedy(source, tmp_path):
    result = run_script(source, "--path", "gateway", PROFCOL_PEERS_DIR=str(tmp_path))
    assert result.returncode == 1
    assert "run: scripts/peers.sh gateway" in result.stderr
    result = run_script(source, "--path", "gatway")
    assert result.returncode == 1 and "there are: gateway" in result.stderr


def build_launcher(source, directory, **environment):
    """Build the peer that needs no Go in this cache; the directory it lies in."""
    result = run_script(
        source, "memlock_launcher", PROFCOL_PEERS_DIR=str(directory), **environment
    )
    assert result.returncode == 0, result.stderr
    (path,) = result.stdout.split()
    assert os.access(path, os.X_OK)
    return pathlib.Path(path).parent


def names_in(directory):
    return {one.name for one in directory.iterdir()}


def test_a_build_that_was_interrupted_leaves_nothing(source, peer, tmp_path):
    peer("memlock_launcher")
    (tmp_path / ".building.memlock_launcher.0000").mkdir()
    for _ in range(2):
        built = build_launcher(source, tmp_path)
        assert names_in(tmp_path) == {".lock", built.name}


def test_other_keys_stay_for_14_days_after_they_were_used(source, peer, tmp_path):
    peer("memlock_launcher")
    built = build_launcher(source, tmp_path)
    day_s = 24 * 60 * 60
    for key, days in (("0" * 16, 1), ("1" * 16, 13), ("2" * 16, 15)):
        other = tmp_path / f"memlock_launcher-{key}"
        other.mkdir()
        os.utime(other, (time.time() - days * day_s,) * 2)
    stranger = tmp_path / ("sink-" + "3" * 16)
    stranger.mkdir()
    os.utime(stranger, (0, 0))
    (built / "memlock_launcher").unlink()  # to be built again
    assert build_launcher(source, tmp_path) == built
    assert names_in(tmp_path) == {
        ".lock",
        built.name,
        "memlock_launcher-" + "0" * 16,
        "memlock_launcher-" + "1" * 16,
        stranger.name,
    }

    for arguments in (["--path", "memlock_launcher"], ["memlock_launcher"]):
        os.utime(built, (0, 0))
        result = run_script(source, *arguments, PROFCOL_PEERS_DIR=str(tmp_path))
        assert result.returncode == 0, result.stderr
        assert time.time() - built.stat().st_mtime < day_s


def test_go_is_asked_for_only_by_what_it_builds(source, peer, tmp_path):
    peer("memlock_launcher")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("go", "python3"):  # too old, and cannot install another
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    cache = tmp_path / "cache"
    built = build_launcher(source, cache, PATH=path)
    assert names_in(cache) == {".lock", built.name}
    result = run_script(source, "pprof", PROFCOL_PEERS_DIR=str(cache), PATH=path)
    assert result.returncode == 1 and "install Go 1." in result.stderr


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("mounting and profiling need root")


def test_the_launcher_lets_memlock_be_raised(peer):
    needs_root()
    command = "ulimit -l unlimited && ulimit -n"
    subprocess.run([peer("memlock_launcher"), "bash", "-c", command], check=True)


@pytest.mark.parametrize("mount,place", [("true", "tracing"), (DEBUGFS, "debug/tracing")])
def test_the_launcher_mounts_tracefs_where_there_is_none(peer, mount, place):
    """Debugfs brings tracefs with it, and then it is left at that."""
    needs_root()
    script = (
        "cd /sys/kernel && mount -t tmpfs none debug && mount -t tmpfs none tracing &&"
        f' {mount} && "$0" find tracing/events debug/tracing/events -prune'
    )
    result = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, peer("memlock_launcher")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert result.stdout == f"{place}/events\n"


def test_a_gateway_passes_on_what_it_gets(capture, peer, tmp_path):
    peer("sink")
    sink = Sink(tmp_path)
    gateway = Gateway(
        tmp_path,
        {
            "otlp": {"endpoint": sink.grpc, "tls": {"insecure": True}},
            "file": {"path": str(tmp_path / "file"), "format": "proto"},
        },
    )
    try:
        assert post(gateway.http, capture.read_bytes()) == 200
        gateway.stop()
        sink.stop()
    finally:
        gateway.kill()
        sink.kill()
    lines = inspect_text(capture)
    assert len(lines) == 5321
    assert inspect_text(tmp_path / "file") == lines
    assert inspect_text(sink.out) == lines
    (request,) = sink.requests()
    assert (request["observations"], request["compression"]) == (5321, "gzip")


def test_a_sink_changes_its_answers_while_it_runs(capture, peer, tmp_path):
    peer("sink")
    body = capture.read_bytes()
    sink = Sink(tmp_path, answers="unavailable,ok")
    try:
        assert [post(sink.http, body), post(sink.http, body)] == [503, 200]
        sink.answer("permission_denied")
        assert post(sink.http, body) == 403
        assert [one["answer"] for one in sink.requests()] == [
            "unavailable",
            "ok",
            "permission_denied",
        ]
        sink.stop()
    finally:
        sink.kill()
    assert inspect_summary(sink.out)["all"]["observations"] == 5321


def test_old_numbering_is_no_profile(source, peer):
    path = (source / OLD).resolve()
    if not path.exists():
        pytest.skip(f"no {OLD} here")
    result = subprocess.run([peer("inspect"), path], capture_output=True, text=True)
    assert result.returncode == 1 and "wrong wireType" in result.stderr


def test_counts_of_a_capture(capture, peer):
    peer("inspect")
    summary = json.loads(inspect(capture))
    assert (summary["resources"], summary["samples"]) == (77, 317)
    assert summary["all"]["observations"] == 5321
    assert (summary["wire"]["raw_bytes"], summary["dictionary"]["stacks"]) == (105244, 104)


def test_the_reference_profiler_runs_here(peer, tmp_path):
    needs_root()
    with contextlib.ExitStack() as stack:
        sink = Sink(tmp_path)
        stack.callback(sink.kill)
        run = Reference(tmp_path, sink.grpc)
        stack.callback(run.kill)
        end = time.monotonic() + 60
        seen = 0
        # On a busy machine the first requests may be all about others.
        while not (seen and "python3" in " ".join(inspect_summary(sink.out)["programs"])):
            before = seen
            while before == seen:
                sum(range(1000000))  # the load
                seen = sum(one["observations"] > 0 for one in sink.requests())
                run.check(time.monotonic() < end)
        run.stop()
        sink.stop()
