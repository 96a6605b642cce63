# SPDX-License-Identifier: Apache-2.0
"""A program runs where another one just ran: with its device and inode number, its path, its file,
its process or its number. It never has the other one's names, nor its container.

TWIN_ROUNDS=1500 makes more than 10,000 rounds of it (`make twins`).
"""
import collections
import contextlib
import os
import subprocess
import tempfile
import uuid

import pytest

from container_cgroup import writable_mount
from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

ROUNDS = int(os.environ.get("TWIN_ROUNDS", "60"))
RATE = 1999
# A program burns CPU for 8 ms. How soon it is known depends on what else runs here: that some
# samples have names shows that there are names to be had.
LEAST = ROUNDS // 10
WAYS = ("mount", "replace", "overwrite", "exec", "pid", "bind", "container")

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """The directory with the programs of these tests: twins have as many bytes."""
    directory = tmp_path_factory.mktemp("twins")
    command = ["gcc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-Wl,--build-id=none"]
    targets = source / "tests/targets"
    for name in ("old", "new"):
        flags = [f"-DVERSION={name}", "-o", directory / name]
        subprocess.run([*command, targets / "versions.c", *flags], check=True)
    subprocess.run([*command, targets / "twins.c", "-o", directory / "twins"], check=True)
    assert (directory / "old").stat().st_size == (directory / "new").stat().st_size
    return directory


@contextlib.contextmanager
def place_for(way):
    """A directory on the file system of the system; or for containers, those of a pod."""
    if way != "container":
        with tempfile.TemporaryDirectory(prefix="profcol-twins-", dir="/var/tmp") as place:
            yield place
        return
    pod = writable_mount() / f"kubepods-pod{str(uuid.uuid4()).replace('-', '_')}.slice"
    pod.mkdir()
    try:
        yield pod
    finally:
        for path in (*pod.glob("*.scope"), pod):
            path.rmdir()


@pytest.fixture(scope="module")
def samples(built, start_profcol_once, start_target_once, tmp_path_factory):
    """The samples of one run, in which twins went each way, by what their thread was called."""
    out = tmp_path_factory.mktemp("out")
    receiver = {"samples_per_second": RATE, "timestamps": False}
    exporters = {"pprof": {"directory": str(out), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    for way in WAYS:
        with place_for(way) as place:
            twins = start_target_once(
                built / "twins", way, ROUNDS, place, built / "old", built / "new"
            )
            wait_until(lambda t=twins: t.process.poll() is not None, way, 60 + ROUNDS)
            assert twins.process.returncode == 0, way
    run.stop()
    by_name = collections.defaultdict(list)
    for sample in Samples(out).all():
        by_name[sample.labels.get("comm")].append(sample)
    return by_name


def count_named(samples, version):
    """How many of `samples` have a function of this version."""
    functions = {f"{version}_leaf", f"{version}_root"}
    return sum(
        sample.count
        for sample in samples
        if functions & {frame.name for frame in sample.frames}
    )


@pytest.mark.parametrize("way", WAYS)
def test_nobody_has_the_names_of_another(way, samples):
    for own, other in (("old", "new"), ("new", "old")):
        seen = samples[f"{own}_{way}"]
        named = count_named(seen, own)
        print(f"{own}, {ROUNDS} rounds: {named} samples of {sum(one.count for one in seen)} named")
        assert not count_named(seen, other)
        # What is no more in the file has no name.
        assert way == "overwrite" or named >= LEAST


def test_nobody_is_in_the_container_of_another(samples):
    for own, digit in (("old", "a"), ("new", "b")):
        seen = samples[f"{own}_container"]
        told = collections.Counter()
        for sample in seen:
            told[sample.labels.get("container.id")] += sample.count
        print(f"{own}: {told}")
        assert set(told) <= {digit * 64, None}
        assert told[digit * 64] >= LEAST
