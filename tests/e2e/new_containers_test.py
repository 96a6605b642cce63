# SPDX-License-Identifier: Apache-2.0
"""The first samples of a container wait in the receiver until the processors know it."""
import json
import signal
import time
import uuid

import pytest

from container_cgroup import ContainerCgroup, samples_of
from plugin_builds import with_plugins
from profcol_run import Profcol, pipeline, read_profile
from waiting import wait_until

CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")
RATE = 99
REPORT_S = 0.5
REPORTS = {"samples_per_second": RATE, "reporter_interval": f"{REPORT_S}s"}


@pytest.fixture
def container():
    """A container that nobody has met; its id in `identity`."""
    identity = uuid.uuid4().hex * 2
    group = ContainerCgroup(str(uuid.uuid4()), identity)
    group.identity = identity
    yield group
    group.remove()


@pytest.fixture
def known(tmp_path):
    """The file which says that the container is known by now."""
    return tmp_path / "known"


@pytest.fixture
def start(prefix, sample_plugins, plugin_directory, container, known, tmp_path):
    """start(receiver options): a run with the processor `informed`, which waits for `known`."""
    runs = []

    def start_one(**options):
        configuration = pipeline(tmp_path / "out", receiver=REPORTS | options)
        informed = {"container": container.identity, "file": str(known)}
        configuration["processors"] = {"informed": informed}
        configuration["service"]["pipelines"]["profiles"]["processors"] = ["informed"]
        with_plugins(configuration, plugin_directory(sample_plugins / "informed.so"))
        runs.append(Profcol(prefix / "bin/profcol", tmp_path / "run", configuration))
        return runs[0].wait_ready()

    yield start_one
    for run in runs:
        run.kill()


def held(run):
    return run.metrics().value("profcol_held_samples", receiver="profiling")


def released(run, reason):
    name = "profcol_held_samples_released"
    return run.metrics().value(name, receiver="profiling", reason=reason)


def expected(milliseconds):
    """Samples that so much burning gives at least: other tests may want the same CPUs."""
    return milliseconds / 1000 * RATE * 0.5


def wait_held(run, milliseconds):
    """Until samples of a target wait that has burnt so much, and has ended; how many do."""
    wait_until(lambda: held(run) >= expected(milliseconds), "samples that wait")
    time.sleep(2 * REPORT_S)
    return held(run)


def reload(run):
    """Restart the processor, which forgets nothing: it has no memory. Returns when the receiver
    has had time to ask it."""
    configuration = json.loads(run.configuration.read_text())
    configuration["processors"]["informed"]["version"] = 1
    run.configuration.write_text(json.dumps(configuration))
    run.process.send_signal(signal.SIGHUP)
    run.wait_logged("Config reload complete.")
    assert "Starting 1 components: processor 'informed'" in run.log
    time.sleep(2 * REPORT_S)


def check_samples(tmp_path, target, milliseconds, informed):
    """All samples of `target`, which has burnt so much, are there, and say that."""
    samples = samples_of(read_profile(tmp_path / "out"), target)
    assert sum(sample.count for sample in samples) >= expected(milliseconds)
    assert {sample.labels["container.informed"] for sample in samples} == {informed}
    assert CHAIN in {sample.names[: len(CHAIN)] for sample in samples}


@pytest.mark.sanitized
def test_samples_wait_until_their_container_is_known(
    start, container, known, build_target, tmp_path
):
    run = start(hold_new_containers="5m")
    target = container.start(build_target("burn"), 1500)
    assert target.wait_exit() == 0
    waiting = wait_held(run, 1500)
    reload(run)
    assert held(run) >= waiting
    known.touch()
    wait_until(lambda: held(run) == 0, "samples that go on")
    assert released(run, "known") >= waiting
    run.stop()
    check_samples(tmp_path, target, 1500, "yes")
    assert run.balance().lost_on_the_way == 0


def test_samples_wait_no_longer_than_their_container_is_new(
    start, container, build_target, tmp_path
):
    run = start(hold_new_containers="5s")
    target = container.start(build_target("burn"), 500)
    assert target.wait_exit() == 0
    wait_until(lambda: released(run, "age") > 0, "samples that go on")
    run.stop()
    check_samples(tmp_path, target, 500, "no")


def test_samples_that_wait_are_there_at_the_end(start, container, build_target, tmp_path):
    run = start(hold_new_containers="5m")
    target = container.start(build_target("burn"), 500)
    assert target.wait_exit() == 0
    wait_held(run, 500)
    run.stop()
    check_samples(tmp_path, target, 500, "no")


def test_containers_that_are_known_do_not_wait(start, container, known, build_target, tmp_path):
    known.touch()
    run = start(hold_new_containers="5m")
    target = container.start(build_target("burn")).wait_burnt(1500)
    assert held(run) == 0
    run.stop()
    check_samples(tmp_path, target, 1500, "yes")


def test_without_a_processor_that_has_to_know_nobody_waits(
    start_profcol, container, build_target, tmp_path
):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    target = container.start(build_target("burn")).wait_burnt(1500)
    assert held(run) == 0
    run.stop()
    samples = samples_of(read_profile(tmp_path / "out"), target)
    assert {sample.labels["container.id"] for sample in samples} == {container.identity}
