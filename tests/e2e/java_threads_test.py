# SPDX-License-Identifier: Apache-2.0
"""Threads of Java have the names that their program has given them, however long and of whatever
characters, where the collector lets them be read; else the first bytes of these, as the system has
them. No thread has the name of another.
"""
import collections
import pathlib
import re
import subprocess
import time

import pytest

from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

JVMS = pathlib.Path("/usr/lib/jvm")
JDKS = {"17": JVMS / "java-17-openjdk-amd64", "25": JVMS / "temurin-25-jdk-amd64"}
INSTALLED_BY_SETUP = "17"
MAIN = "JavaThreads"
# The method that each of them runs.
NAMES = {
    "runLong": "a name of more than fifteen bytes",
    "runWide": "Größe α中😀",
    "runAllocating": "allocating all the time",
    "runOwn": "worker of its own class",
    "runRenamed": "name of before",
}
SHORT = "runShort"  # of threads that come and go
RENAMED = "a name that it has been given later on"
# After which is judged.
SEEN = 20
BOUND_S = 300
ATTACH_TIMEOUT = f"-J-Dsun.tools.attach.attachTimeout={1000 * BOUND_S}"  # ms

# Ways to collect, and to keep objects: with these, names are read;
READ = {
    "g1": ("-XX:+UseG1GC", "-Xmx32m"),
    "serial": ("-XX:+UseSerialGC", "-Xmx16m"),
    "parallel": ("-XX:+UseParallelGC", "-Xmx32m"),
    "long_pointers": ("-XX:-UseCompressedOops",),
    "long_classes": ("-XX:-UseCompressedClassPointers",),
}
READ_FROM_25 = {"compact": ("-XX:+UseCompactObjectHeaders",)}
# with these, not.
NOT_READ = {"z": ("-XX:+UseZGC",), "shenandoah": ("-XX:+UseShenandoahGC",)}
# What make test-all shows; all others are run by hand.
THOROUGH = {"17": ("g1", "long_pointers", "z"), "25": ("serial", "long_classes", "compact")}


def cases():
    for version in JDKS:
        read = READ | (READ_FROM_25 if version == "25" else {})
        for name, flags in (read | NOT_READ).items():
            is_shown = name in THOROUGH[version]
            mark = pytest.mark.thorough if is_shown else pytest.mark.runtimes
            yield pytest.param(version, flags, name in read, id=f"{version}-{name}", marks=mark)


def start_threads(start_target, java, classes, flags, within=(), arguments=()):
    command = [*within, java, *flags, "-cp", classes, MAIN, *arguments]
    target = start_target(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    # Before that, warnings about settings that will go.
    if b"ready\n" not in iter(target.process.stdout.readline, b""):
        pytest.skip(f"{java} does not know {' '.join(flags)}")
    return target


class Seen:
    """By method, how often a thread that ran it had which name."""

    def __init__(self, samples):
        self._samples = samples
        self.names = collections.defaultdict(collections.Counter)
        self._taken = 0

    def read(self):
        samples = self._samples()
        for sample in samples[self._taken :]:
            for name in (*NAMES, SHORT):
                if f"{MAIN}.{name}" in sample.names:
                    self.names[name][sample.labels.get("comm")] += sample.count
        self._taken = len(samples)
        return self.names


@pytest.fixture
def classes(source, tmp_path):
    file = source / f"tests/targets/{MAIN}.java"
    command = ["javac", "-encoding", "UTF-8", "--release", "8", "-Xlint:-options"]
    subprocess.run([*command, "-d", tmp_path, file], check=True, timeout=120)
    return tmp_path


def watch(pid, start_profcol, directory):
    """The Seen of a profiler that is started for process `pid`."""
    receiver = {"samples_per_second": 499, "select": {"include": [{"pid": pid}]}}
    exporters = {"pprof": {"directory": str(directory), "interval": "1s"}}
    start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory)
    return Seen(lambda: samples.of(pid))


def is_of_system(comm, name):
    """From JDK 22 on the system is told the beginning and the end of a long name."""
    begin, _, end = comm.replace("?", "").partition("..")
    return name.startswith(begin) and (not end or name.endswith(end))


def check_names(seen, target):
    try:
        check_names_seen(seen, target)
    finally:
        print(f"names by method: {dict(seen.names)}")


def check_names_seen(seen, target):
    def are_seen():
        return all(seen.read()[method][name] >= SEEN for method, name in NAMES.items())

    wait_until(are_seen, "threads with their names", BOUND_S, step_s=0.5)
    # Before the JVM is known, and while it collects, they have the system's; never another's.
    for method, name in NAMES.items():
        for other in seen.names[method]:
            assert other == name or is_of_system(other, name), (method, seen.names)
    target.process.stdin.write(f"{RENAMED}\n".encode())
    target.process.stdin.flush()
    wait_until(lambda: seen.read()["runRenamed"][RENAMED], "the new name", BOUND_S, step_s=0.5)


def find_java(version):
    java = JDKS[version] / "bin/java"
    if not java.exists():
        assert version != INSTALLED_BY_SETUP, f"scripts/setup.sh installs {java}"
        pytest.skip(f"no JDK in {JDKS[version]}")
    return java


def test_threads_have_them_in_a_pid_namespace_of_their_own(
    classes, start_target, start_profcol, tmp_path
):
    within = ("unshare", "--pid", "--fork", "--kill-child")
    target = start_threads(start_target, find_java("17"), classes, (), within)
    children = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text()
    check_names(watch(int(children), start_profcol, tmp_path / "out"), target)


@pytest.mark.thorough
def test_they_keep_them(classes, start_target, start_profcol, tmp_path):
    """A name that is older than half a minute is of no use: it has to be read again."""
    target = start_threads(start_target, find_java("17"), classes, ())
    seen = watch(target.pid, start_profcol, tmp_path / "out")
    check_names(seen, target)
    time.sleep(40)
    name = NAMES["runLong"]
    before = seen.read()["runLong"][name]
    wait_until(lambda: seen.read()["runLong"][name] >= before + SEEN, "its name", BOUND_S)


@pytest.mark.parametrize(
    "collector",
    [
        pytest.param("g1", marks=pytest.mark.thorough),
        pytest.param("serial", marks=pytest.mark.runtimes),
        pytest.param("parallel", marks=pytest.mark.runtimes),
    ],
)
def test_no_thread_has_the_name_of_another_whatever_moves(
    collector, classes, start_target, start_profcol, tmp_path
):
    java = find_java("17")
    target = start_threads(start_target, java, classes, READ[collector], (), ("storm",))
    seen = watch(target.pid, start_profcol, tmp_path / "out")
    for number in range(3):
        dump = ("GC.heap_dump", tmp_path / f"heap{number}")
        for command in (dump, ("Thread.print",), ("GC.class_histogram",)):
            told = subprocess.run(
                # A JVM that starts threads all the time takes long to start the one that answers.
                [java.parent / "jcmd", ATTACH_TIMEOUT, str(target.pid), *command],
                stdout=subprocess.DEVNULL,
            )
            assert not told.returncode
    check_names(seen, target)
    wait_until(lambda: seen.read()[SHORT].total() >= SEEN, "threads that go", BOUND_S, step_s=0.5)
    for name in seen.names[SHORT]:
        # Born with the name of whoever has started it.
        assert re.match(r"short-lived thread \d+$|short-lived thr?$|coming", name), seen.names


@pytest.mark.parametrize(("version", "flags", "is_read"), cases())
def test_threads_have_their_names(
    version, flags, is_read, classes, start_target, start_profcol, tmp_path
):
    target = start_threads(start_target, find_java(version), classes, flags)
    seen = watch(target.pid, start_profcol, tmp_path / "out")
    if is_read:
        check_names(seen, target)
        return
    wait_until(
        lambda: all(seen.read()[method].total() >= SEEN for method in NAMES),
        "threads that run their methods",
        BOUND_S,
        step_s=0.5,
    )
    for method, name in NAMES.items():
        for shown in seen.names[method]:
            # As the JVM has told the system, some versions the first and the last letters.
            assert len(shown.encode()) <= 15, seen.names
            assert shown[:3] == name[:3], seen.names
