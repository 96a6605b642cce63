# SPDX-License-Identifier: Apache-2.0
"""Containers as the kernel sees those of a pod: processes in a cgroup that is called as a kubelet
and containerd call it.
"""
import contextlib
import os
import pathlib

import pytest

from target_run import Target


def _unified_mount():
    """Where cgroup v2 is mounted."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return pathlib.Path(before.split()[4])
    return None


def writable_mount():
    """Where cgroups can be made; without, the test fails in CI and is skipped elsewhere."""
    mount = _unified_mount()
    if not mount or not os.access(mount / "cgroup.procs", os.W_OK):
        unfit = "no cgroup v2 is mounted for writing; run: mount -t cgroup2 none /sys/fs/cgroup"
        if os.environ.get("CI") == "true":
            pytest.fail(unfit, pytrace=False)
        pytest.skip(unfit)
    return mount


def _make_all(path):
    """With those above it, of which another test may remove one that is empty at any time."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            path.mkdir(parents=True, exist_ok=True)
            return


def samples_of(profile, target, program="burn"):
    """Those that a container's process has had in its program: the shell that executes it may not
    be in the container yet.
    """
    samples = profile.of_pid(target.pid)
    return [sample for sample in samples if sample.labels["process.executable.name"] == program]


class ContainerCgroup:
    """The cgroup of a container `identity` of a pod `uid`; remove() ends what runs in it."""

    def __init__(self, uid, identity):
        pod = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
        scope = f"cri-containerd-{identity}.scope"
        self._targets = []
        self._path = writable_mount() / "kubepods.slice/kubepods-burstable.slice" / pod / scope
        _make_all(self._path)
        self._procs = self._path / "cgroup.procs"

    def start(self, *command):
        """A Target that executes its program within the container, as the first of it."""
        script = f'echo $$ > {self._procs} && exec "$@"'
        target = Target("sh", "-c", script, "sh", *command)
        self._targets.append(target)
        return target

    def take(self, target):
        """Move a process that runs into it."""
        self._procs.write_text(str(target.pid))
        self._targets.append(target)

    def remove(self):
        for target in self._targets:
            target.kill()
        for path in (self._path, *self._path.parents[:3]):
            with contextlib.suppress(OSError):  # another test's container is in it
                path.rmdir()
