# SPDX-License-Identifier: Apache-2.0
"""What profiles say of the programs they are of, and how that is chosen."""
import contextlib
import os
import pathlib
import sys
import uuid

import pytest
import yaml

from profcol_run import pipeline, read_profile
from target_run import computing_shell
from waiting import wait_until

SERVICE = {
    "OTEL_SERVICE_NAME": "checkout",
    "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2,team=caf%C3%A9,process.pid=1",
    "REGION": "eu",
    "PASSWORD": "secret",
}
INTERPRETER = os.path.basename(os.path.realpath(sys.executable))


def samples_of(profile, target):
    """Since it was exec'd: before that it has its PID, but is a copy of the tests' interpreter."""
    samples = [
        sample
        for sample in profile.of_pid(target.pid)
        if sample.labels["process.executable.name"] != INTERPRETER
    ]
    assert samples, f"no sample of {target.pid}"
    return samples


def common_labels(samples):
    """The labels that all of them have with one value."""
    first = samples[0].labels
    return {
        key: value
        for key, value in first.items()
        if all(sample.labels.get(key) == value for sample in samples)
    }


@pytest.mark.sanitized
@pytest.mark.parametrize("resource_by", ["process", "container", "host"])
def test_a_service_is_known_by_its_environment(
    start_profcol, start_target, build_target, tmp_path, resource_by
):
    options = {"include_env_vars": "REGION, HOME_TOWN", "resource_by": resource_by}
    run = start_profcol(pipeline(tmp_path / "out", options)).wait_ready()
    target = start_target(build_target("burn"), env=os.environ | SERVICE).wait_burnt(1000)
    run.stop()

    labels = common_labels(samples_of(read_profile(tmp_path / "out"), target))
    assert labels["service.name"] == "checkout"
    assert labels["service.version"] == "1.2"
    assert labels["team"] == "café"
    assert labels["process.environment_variable.REGION"] == "eu"
    assert labels["process.executable.name"] == "burn"
    assert labels["pid"] == target.pid
    assert "secret" not in labels.values()


def test_who_names_no_service_may_be_called_as_by_sdks(
    source, start_profcol, start_target, build_target, tmp_path
):
    """By the statement that the receiver's documentation has for it."""
    readme = (source / "receiver/ebpf/README.md").read_text(encoding="utf-8")
    (text,) = (part for part in readme.split("```") if "unknown_service:" in part and "set(" in part)
    configuration = pipeline(tmp_path / "out")
    configuration["processors"] = yaml.safe_load(text.removeprefix("yaml"))["processors"]
    configuration["service"]["pipelines"]["profiles"]["processors"] = ["transform"]
    run = start_profcol(configuration).wait_ready()
    nameless = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    targets = {
        "checkout": start_target(build_target("burn"), env=nameless | SERVICE),
        "unknown_service:burn": start_target(build_target("burn"), env=nameless),
    }
    for target in targets.values():
        target.wait_burnt(1000)
    run.stop()
    profile = read_profile(tmp_path / "out")
    for name, target in targets.items():
        assert common_labels(samples_of(profile, target))["service.name"] == name


def test_an_exec_changes_the_service(start_profcol, start_target, build_target, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    script = computing_shell('OTEL_SERVICE_NAME=after exec "$0"')
    before = os.environ | {"OTEL_SERVICE_NAME": "before"}
    target = start_target("sh", "-c", script, build_target("burn"), env=before)
    target.wait_burnt(1000)
    target.process.terminate()
    target.wait_burnt(1000)
    run.stop()

    services = {
        (sample.labels["process.executable.name"], sample.labels.get("service.name"))
        for sample in samples_of(read_profile(tmp_path / "out"), target)
    }
    assert services == {("dash", "before"), ("burn", "after")}


def removed(folder):
    """Not while a process is about to end in it."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


@pytest.fixture
def container():
    """A cgroup called like a container's: (its id, a function that moves a process in)."""
    number = uuid.uuid4().hex * 2
    root = pathlib.Path("/sys/fs/cgroup")
    if not (root / "cgroup.procs").exists():
        root = root / "pids"
    if not os.access(root, os.W_OK):
        pytest.skip("cgroups cannot be made here")
    folder = root / f"docker-{number}.scope"
    folder.mkdir()
    yield number, lambda pid: (folder / "cgroup.procs").write_text(str(pid))
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (root / "cgroup.procs").write_text(pid)
    wait_until(lambda: removed(folder), "an empty cgroup")


def test_a_container_is_known_by_its_id(
    start_profcol, start_target, build_target, tmp_path, container
):
    number, enter = container
    exporters = {
        "pprof": {"directory": str(tmp_path / "out"), "interval": "1h"},
        "debug": {"verbosity": "normal", "use_internal_logger": False},
    }
    receiver = {"resource_by": "container", "reporter_interval": "1h"}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    script = 'read line; exec "$0"'
    inside = start_target("sh", "-c", script, build_target("burn"), stdin=-1)
    enter(inside.pid)
    inside.process.stdin.close()
    outside = start_target(build_target("burn"))
    inside.wait_burnt(1000)
    outside.wait_burnt(1000)
    run.stop()
    inside.kill()

    profile = read_profile(tmp_path / "out")
    burning = [  # the shell began outside
        sample
        for sample in samples_of(profile, inside)
        if sample.labels["process.executable.name"] == "burn"
    ]
    assert common_labels(burning)["container.id"] == number
    assert "container.id" not in common_labels(samples_of(profile, outside))
    resources = [line for line in run.out.splitlines() if line.startswith("ResourceProfiles")]
    assert any(f"container.id={number}" in line for line in resources)
    assert not any("process.pid" in line for line in resources)


def test_one_resource_for_the_host(start_profcol, burner, tmp_path):
    exporters = {"debug": {"verbosity": "normal", "use_internal_logger": False}}
    receiver = {"resource_by": "host", "reporter_interval": "1h"}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    burner.wait_burnt(500)
    run.stop()
    resources = [line for line in run.out.splitlines() if line.startswith("ResourceProfiles")]
    assert len(resources) == 1


@pytest.mark.sanitized
def test_without_timestamps_every_sample_still_counts(start_profcol, burner, tmp_path):
    receiver = {"timestamps": False, "reporter_interval": "1h"}
    run = start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()
    burner.wait_burnt(1000)
    run.stop()

    profile = read_profile(tmp_path / "out")
    assert profile.count == run.balance().exported
    samples = profile.of_pid(burner.pid)
    assert sum(sample.count for sample in samples) >= 50
    assert max(sample.count for sample in samples) > 1
    assert not any("tid" in sample.labels for sample in samples)
    assert {sample.labels["comm"] for sample in samples} == {"burn"}
