# SPDX-License-Identifier: Apache-2.0
"""Programs that say they are Go's and forge what goroutines have for labels: lists that lead nowhere,
of a billion entries, in circles, texts of 2**62 bytes, another one at each sample. It costs the
profiler nothing, and these programs their labels.
"""
import concurrent.futures
import dataclasses
import os
import subprocess

import pytest

from go_labels_test import labels_of
from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

LEAST_SEEN = 40  # samples of each program, after the first with which all is known
TOGETHER = 6

# Of Go: its labels are a slice, or a map.
VERSIONS = {"go1.26": 0, "go1.20": 1}

# What there is to be had.
RED = {"color": "red"}
TRUE_LABELS = {
    "honest": RED,
    "lengths_without_end": RED,
    "a_billion": RED,
}

# Ways whose labels are what happens to lie there.
MADE_UP = {"in_a_circle", "always_another"}

RESULTS = ("whole", "left_out", "unreadable")

pytestmark = pytest.mark.sanitized


def build(source, directory, version, with_maps):
    """The path of the program that says it is of this version, of six characters."""
    path = directory / version
    macros = (f"-DWITH_MAPS={with_maps}", f'-DGO_VERSION="{version}"')
    command = ["gcc", "-g", "-O2", "-fno-omit-frame-pointer", *macros]
    subprocess.run([*command, source / "tests/targets/go_forged.c", "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def programs(source, tmp_path_factory):
    """Version to the path of the program."""
    directory = tmp_path_factory.mktemp("go_forged")
    return {version: build(source, directory, version, maps) for version, maps in VERSIONS.items()}


def is_known(way, sample):
    """Is the sample from when its program had been looked at?"""
    has_labels = way in TRUE_LABELS or way == "always_another"
    return "main" in sample.names and (not has_labels or labels_of(sample) != {})


def ways(path):
    made = subprocess.run([path], check=True, capture_output=True, text=True)
    return made.stdout.split()


@dataclasses.dataclass
class Seen:
    samples: dict  # (version, way) to those from when the program was known
    counted: dict  # result to samples, as the metric has it


@pytest.fixture(scope="module")
def seen(programs, start_profcol_once, start_target_once, tmp_path_factory):
    directory = tmp_path_factory.mktemp("forged")
    receiver = {"samples_per_second": 499, "select": {"include": [{"pid": os.getpid()}]}}
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")
    found = {}

    def observe(version, way):
        target = start_target_once(programs[version], way)
        # The first ones, and what is in a file with them, are of a program that nobody knows yet.
        wait_until(
            lambda: any(is_known(way, sample) for sample in samples.of(target.pid)),
            f"names of {way}",
            step_s=0.5,
        )
        before = len(samples.of(target.pid))
        wait_until(
            lambda: len(samples.of(target.pid)) >= before + LEAST_SEEN,
            f"samples of {way}",
            step_s=0.5,
        )
        assert target.process.poll() is None, f"'{way}' ended"
        found[version, way] = samples.of(target.pid)[before:]
        target.kill()

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        list(
            pool.map(
                lambda one: observe(*one),
                [(version, way) for version, path in programs.items() for way in ways(path)],
            )
        )
    metrics = run.metrics()
    run.stop()
    counted = {
        result: metrics.value("profcol_labelled_samples", result=result) for result in RESULTS
    }
    return Seen(found, counted)


def test_true_labels_are_there_and_no_others(seen):
    wrong = {
        (version, way): labels
        for (version, way), samples in seen.samples.items()
        for labels in map(labels_of, samples)
        if way not in MADE_UP and labels != TRUE_LABELS.get(way, {})
    }
    assert not wrong
    assert len(seen.samples) >= 24


def test_stacks_are_whole_whatever_the_labels(seen):
    cut = {
        key: sample.names
        for key, samples in seen.samples.items()
        for sample in samples
        if sample.mark or not {"spin", "main"} <= set(sample.names)
    }
    assert not cut


def test_another_label_at_each_sample(seen):
    for version in VERSIONS:
        values = {labels_of(one)["color"] for one in seen.samples[version, "always_another"]}
        assert len(values) > LEAST_SEEN // 2


def test_what_is_missing_is_counted(seen):
    print(seen.counted)
    assert all(seen.counted.values())


def test_an_unknown_version_is_refused(
    program, source, start_profcol, start_target, tmp_path
):
    target = start_target(build(source, tmp_path, "go1.28", 0), "honest")
    receiver = {"samples_per_second": 499, "select": {"include": [{"pid": target.pid}]}}
    exporters = {"pprof": {"directory": str(tmp_path / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(tmp_path / "profiles")

    def refused():
        name = "profcol_runtime_processes_refused"
        return run.metrics().value(name, runtime="go", reason="version")

    wait_until(refused, "the program to be refused")
    before = len(samples.of(target.pid))
    wait_until(
        lambda: len(samples.of(target.pid)) >= before + LEAST_SEEN, "samples of it", step_s=0.5
    )
    doctor = subprocess.run(
        [program, "doctor", "--pid", str(target.pid)], capture_output=True, text=True
    )
    run.stop()
    assert not any(map(labels_of, samples.of(target.pid)))
    assert "go1.28 in" in doctor.stdout and "does not know" in doctor.stdout
