# SPDX-License-Identifier: Apache-2.0
"""What samples carry, which are passed on, and where they go."""
import os
import pathlib
import time
import uuid

import pytest

from profcol_run import pipeline, read_profile
from waiting import wait_until

CGROUPS = pathlib.Path("/sys/fs/cgroup")


def test_labels_and_columns(start_profcol, burner, build_target, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": 50})).wait_ready()
    begin_ns = time.time_ns()
    burner.wait_burnt(1000)
    run.stop()

    profile = read_profile(tmp_path / "out")
    assert profile.sample_types == (("samples", "count"), ("cpu", "nanoseconds"))
    assert profile.period == 1_000_000_000 // 50
    assert profile.time_ns <= begin_ns
    assert profile.time_ns + profile.duration_ns <= time.time_ns()
    samples = profile.of_pid(burner.pid)
    assert samples
    for sample in samples:
        assert sample.values[1] == sample.values[0] * profile.period
        assert sample.labels["tid"] == burner.pid
        assert sample.labels.get("comm") == "burn"
        assert sample.labels["process.executable.path"] == str(build_target("burn"))
        assert "process.creation.time" in sample.labels
        assert "container.id" not in sample.labels


@pytest.fixture
def container_cgroup():
    """A cgroup named as a container engine names its own, and the id in its name."""
    number = uuid.uuid4().hex * 2
    controller = next(
        (path for path in (CGROUPS / "pids", CGROUPS) if (path / "cgroup.procs").exists()), None
    )
    if not controller:
        pytest.skip("no cgroup hierarchy is mounted")
    parent = controller / f"docker-{number[:8]}"  # nobody else's
    cgroup = parent / number
    cgroup.mkdir(parents=True)
    yield cgroup, number

    def removed():
        try:
            cgroup.rmdir()
        except OSError:
            return False  # the process in it has not quite gone
        return True

    wait_until(removed, f"removal of {cgroup}")
    parent.rmdir()


def test_the_container_is_known(
    container_cgroup, start_profcol, build_target, start_target, tmp_path
):
    cgroup, number = container_cgroup
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    script = 'echo $$ >"$0/cgroup.procs" && exec "$1"'
    target = start_target("sh", "-c", script, cgroup, build_target("burn")).wait_burnt(1000)
    run.stop()
    target.kill()

    samples = read_profile(tmp_path / "out").of_pid(target.pid)
    # The first moments, before it moved, may be told apart or not.
    burning = [sample for sample in samples if sample.labels.get("comm") == "burn"]
    assert burning
    assert {sample.labels.get("container.id") for sample in burning} == {number}


def idle_s():
    """Time that CPU 0 has been idle.

    Not the others: one that has been offline before may fire no perf event while it is idle
    (kernel 6.18 in a virtual machine; perf record misses them as well).
    """
    stat = pathlib.Path("/proc/stat").read_text()
    ticks = next(line for line in stat.splitlines() if line.startswith("cpu0 ")).split()[4]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


IDLE_RATE, IDLE_S = 999, 0.3


@pytest.fixture
def run_idle(start_profcol, start_target, build_target, tmp_path):
    """run_idle(receiver): a run that saw a busy process, too, and the profile it wrote."""

    def run(receiver):
        receiver = receiver | {"samples_per_second": IDLE_RATE}
        run = start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()
        start_target(build_target("burn"), 300).wait_exit()
        goal = idle_s() + IDLE_S
        end = time.monotonic() + 30
        while idle_s() < goal:
            if time.monotonic() > end:
                pytest.skip("this machine is never idle")
            time.sleep(0.1)
        return run.stop(), read_profile(tmp_path / "out")

    return run


# Nothing makes a CPU idle that others want.
@pytest.mark.alone
def test_samples_of_idle_cpus_are_counted_and_dropped(run_idle):
    run, profile = run_idle({})
    balance = run.balance()
    assert balance.causes["idle"] >= IDLE_RATE * IDLE_S / 2
    assert balance.filtered == balance.causes["idle"]
    assert profile.samples
    assert not profile.of_pid(0)


@pytest.mark.alone
def test_samples_of_idle_cpus_are_passed_on_when_wanted(run_idle):
    run, profile = run_idle({"send_idle_frames": True})
    assert run.balance().filtered == 0
    assert sum(sample.count for sample in profile.of_pid(0)) >= IDLE_RATE * IDLE_S / 2


@pytest.mark.sanitized
def test_every_exporter_of_every_pipeline_gets_all(start_profcol, burner, tmp_path):
    names = ["pprof/a", "pprof/b", "pprof/c"]
    exporters = {
        name: {"directory": str(tmp_path / name.replace("/", "_")), "interval": "1h"}
        for name in names
    }
    pipelines = {
        "profiles/one": {"receivers": ["profiling"], "exporters": names[:2]},
        "profiles/two": {"receivers": ["profiling"], "exporters": names[2:]},
    }
    run = start_profcol(pipeline(exporters=exporters, pipelines=pipelines)).wait_ready()
    burner.wait_burnt(500)
    run.stop()

    profiles = [read_profile(tmp_path / name.replace("/", "_")) for name in names]
    balances = run.balances()
    assert len(balances) == 3
    assert {balance.taken for balance in balances} == {balances[0].taken}
    assert {balance.exported for balance in balances} == {profiles[0].count}
    assert {profile.count for profile in profiles} == {profiles[0].count}
    assert profiles[0].of_pid(burner.pid)


def test_the_debug_exporter_prints_the_hottest_functions(start_profcol, burner, build_target):
    exporters = {"debug": {"top": 10, "use_internal_logger": False}}
    # Of this program: others may burn more.
    select = {"include": [{"executable": {"values": [str(build_target("burn"))]}}]}
    receiver = {"reporter_interval": "1h", "select": select}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters))
    run.wait_ready()
    burner.wait_burnt(1000)
    run.stop()
    assert "burn_leaf" in run.out
    assert "%" in run.out
    assert run.balance().exported > 0
