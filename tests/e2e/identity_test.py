# SPDX-License-Identifier: Apache-2.0
"""Whose name it is: processes without a main thread, programs called as removed ones, BPF programs
that come later, what processes claim to be.
"""
import pathlib
import re
import shutil
import subprocess
import uuid

import pytest

from container_cgroup import ContainerCgroup
from odd_neighbour import assert_whole, named, since_exec
from waiting import wait_until

BURN_MS = 700  # of CPU time, at 199 samples a second
LEAST = 60  # samples of that


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """The directory with the programs of these tests."""
    directory = tmp_path_factory.mktemp("identity")

    def compile_one(name, target, *flags):
        command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", *flags]
        file = source / "tests/targets" / f"{target}.c"
        subprocess.run([*command, file, "-o", directory / name], check=True)

    compile_one("dead_leader", "dead_leader", "-pthread")
    compile_one("bpf_program", "bpf_program")
    compile_one("old", "versions", "-DVERSION=old")
    compile_one("ordinary", "odd_process", "-fomit-frame-pointer")
    return directory


def state_of(pid):
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    return text[text.rindex(")") + 2]


def check_leaderless(samples, built):
    path = str(built / "dead_leader")
    ends = assert_whole(samples, LEAST)
    assert named(samples, "leaderless_leaf", "leaderless_root") >= 0.9 * ends["whole"]
    told = {sample.labels.get("process.executable.path") for sample in samples}
    assert path in told and told <= {path, None}
    return told


def test_a_process_whose_main_thread_has_ended(around, built):
    before = around.start(built / "dead_leader")
    wait_until(lambda: state_of(before.pid) == "Z", "the end of its main thread")
    around.profile()
    after = around.start(built / "dead_leader").wait_burnt(BURN_MS)
    around.await_samples()
    samples = around.finish()
    check_leaderless(samples[before.pid], built)
    check_leaderless(since_exec(samples[after.pid], built / "dead_leader"), built)


def test_a_living_program_that_is_called_deleted(around, built, tmp_path):
    """The kernel puts that word behind the name of a file that was removed."""
    path = tmp_path / "real (deleted)"
    gone = tmp_path / "gone"
    shutil.copy(built / "old", path)
    shutil.copy(built / "old", gone)
    before = around.start(path)
    removed = around.start(gone).wait_burnt(50)
    gone.unlink()
    around.profile()
    after = around.start(path).wait_burnt(BURN_MS)
    around.await_samples()
    samples = around.finish()

    def told(pid):
        labels = [sample.labels for sample in samples[pid]]
        return {label.get("process.executable.path") for label in labels}

    assert told(before.pid) == {str(path)}
    assert str(path) in told(after.pid)
    assert told(removed.pid) == {str(gone)}


@pytest.mark.thorough
def test_bpf_programs_that_are_loaded_later(around, built):
    """Each by its own name, and not by that of profcol's, behind which it lies."""
    names = ("hot_alpha", "hot_beta", "hot_gamma")
    around.profile()
    pids = {}
    for name in names:
        target = around.start(built / "bpf_program", name)
        wait_until(
            lambda t=target: t.process.poll() is not None or t.cpu_ms() >= BURN_MS,
            "time in its BPF program",
        )
        if target.process.poll() is not None:
            pytest.skip("no BPF program can be run here")
        pids[name] = target.pid
        target.kill()
    around.await_samples()
    samples = around.finish()
    for name, pid in pids.items():
        seen = {}
        for sample in samples[pid]:
            for frame, caller in zip(sample.frames, sample.frames[1:]):
                # Those that profilers have run on top of it are none of its own.
                if not re.fullmatch(r"bpf_(prog_)?test_run\w*", caller.name or ""):
                    continue
                if match := re.fullmatch(r"bpf_prog_[0-9a-f]+_(\w+)", frame.name or ""):
                    seen[match[1]] = seen.get(match[1], 0) + sample.count
        assert seen.get(name, 0) >= LEAST, seen
        assert set(seen) == {name}


def test_what_the_platform_knows_cannot_be_claimed(around, built):
    claims = "k8s.namespace.name=kube-system,container.id=1,host.name=theirs,team=a%0Ab%1B%C2%9B"
    around.profile()
    target = around.start(built / "old", env={"OTEL_RESOURCE_ATTRIBUTES": claims})
    target.wait_burnt(BURN_MS)
    around.await_samples()
    samples = since_exec(around.finish()[target.pid], built / "old")
    assert {sample.labels.get("team") for sample in samples} == {"a?b???"}
    for key in ("k8s.namespace.name", "container.id", "host.name"):
        assert not any(key in sample.labels for sample in samples)
    assert around.metrics.value("profcol_processes_claims_refused") >= 3


def test_a_process_that_is_moved_into_a_container(around, built):
    """It goes on with the program that it had."""
    identity = uuid.uuid4().hex + uuid.uuid4().hex
    cgroup = ContainerCgroup(str(uuid.uuid4()), identity)
    try:
        around.profile()
        target = around.start(built / "old")
        wait_until(lambda: around.has_exported(target.pid, "old_leaf"), "samples of it")
        cgroup.take(target)
        wait_until(
            lambda: identity in around.labels_of(target.pid, "container.id"),
            "samples of it in its container",
        )
        around.await_samples()
        around.finish()
    finally:
        cgroup.remove()
