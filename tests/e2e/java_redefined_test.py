# SPDX-License-Identifier: Apache-2.0
"""Frames of a class that is redefined all the time have the names and the lines of the version that
ran: those of before are freed, and their memory is given to the next ones.
"""
import collections
import pathlib
import subprocess
import zipfile

import pytest

from decided import Decision, Share, assert_rare
from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

JVMS = pathlib.Path("/usr/lib/jvm")
JDKS = {"17": JVMS / "java-17-openjdk-amd64", "25": JVMS / "temurin-25-jdk-amd64"}
INSTALLED_BY_SETUP = "17"
MAIN, CLASS = "JavaRedefined", "Shown"
# Its methods, by what calls them.
CALLERS = {f"{MAIN}.runOpen": f"{CLASS}.open", f"{MAIN}.runShut": f"{CLASS}.shut"}
SEEN = 100  # right frames of each method of each version
GONE = "[name gone before it was read]"  # for what it named was freed
GONE_MOST = 0.5  # of the frames that are judged
LATE = "[name not read in time]"  # that depends on what else the machine does
# Whole stacks that have what a version calls, but not what calls it.
ODD = Share(fine=0.001, fault=0.02)
BOUND_S = 300
# Interpreted, and compiled when that is worth it.
FLAGS = [("-Xint",), ("-XX:+UseG1GC",)]
MANIFEST = f"Premain-Class: {MAIN}\nCan-Redefine-Classes: true\n"

METHOD = """
	public long %s(long x) {
		return JavaRedefined.%s(x + 1) * 5;
	}
"""


class Version:
    """Version number `number` of the class. It calls `mark`; `lines`: of its methods, where they
    call."""

    def __init__(self, number, mark):
        self.mark = f"{MAIN}.{mark}"
        names = ("open", "shut") if number % 2 else ("shut", "open")
        methods = "".join(METHOD % (name, mark) for name in names).splitlines()
        begin = f"public final class {CLASS} implements {MAIN}.Shop {{"
        lines = [*["//"] * (100 * number), begin, *methods, "}"]
        self.source = "\n".join(lines)
        at = (number for number, line in enumerate(lines, 1) if self.mark in line)
        self.lines = {f"{CLASS}.{name}": line for name, line in zip(names, at)}


VERSIONS = [Version(number, mark) for number, mark in enumerate(("first", "second", "third"))]


def compile_java(directory, *files, path=()):
    flags = ["--release", "8", "-Xlint:-options", "-implicit:none", "-cp", path or directory]
    subprocess.run(["javac", *flags, "-d", directory, *files], check=True, timeout=120)


@pytest.fixture(scope="module")
def arguments(source, tmp_path_factory):
    """Of a JVM: those that run the program."""
    directory = tmp_path_factory.mktemp("redefined")
    program = directory / "program"
    program.mkdir()
    compile_java(program, source / f"tests/targets/{MAIN}.java")
    files = []
    for number, version in enumerate(VERSIONS):
        path = directory / str(number)
        path.mkdir()
        (path / f"{CLASS}.java").write_text(version.source)
        compile_java(path, path / f"{CLASS}.java", path=program)
        files.append(path / f"{CLASS}.class")
    agent = directory / "agent.jar"
    with zipfile.ZipFile(agent, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", MANIFEST)
    return [f"-javaagent:{agent}", "-cp", program, MAIN, "redefine", *files]


def judge(sample):
    """(number of the version, method, (name, line) of its frame), or None: it ran another one. The
    method is None if what is on the stack in its place calls none."""
    for number, version in enumerate(VERSIONS):
        if version.mark in sample.names and LATE not in sample.names:
            at = sample.names.index(version.mark)
            callers = sample.frames[at + 1 : at + 3]
            method = CALLERS.get(callers[-1].name) if len(callers) == 2 else None
            return number, method, method and (callers[0].name, callers[0].line)
    return None


class Seen:
    """By version and method, how often its frame was what."""

    def __init__(self, samples):
        self._samples = samples
        self.frames = collections.defaultdict(collections.Counter)
        self.odd = collections.Counter()  # by names
        self._taken = 0

    def read(self):
        samples = self._samples()
        for sample in samples[self._taken :]:
            judged = judge(sample)
            if not judged:
                continue
            number, method, frame = judged
            if not method:
                self.odd[sample.names] += sample.count
            else:
                self.frames[number, method][frame] += sample.count
        self._taken = len(samples)

    def right(self):
        """By version and method, how often the frame was the right one."""
        return {
            (number, method): self.frames[number, method][method, line]
            for number, version in enumerate(VERSIONS)
            for method, line in version.lines.items()
        }

    def total(self):
        return sum(frames.total() for frames in self.frames.values())

    def gone(self):
        """Frames whose name was gone before it was read."""
        return sum(
            count
            for frames in self.frames.values()
            for (name, _), count in frames.items()
            if name == GONE
        )

    def wrong(self):
        """Frames of other names or lines, but those whose name was gone."""
        for (number, method), frames in self.frames.items():
            for (name, line), count in frames.items():
                right = (method, VERSIONS[number].lines[method])
                if (name, line) != right and name != GONE:
                    yield f"{name}:{line}, {count} times, not {right}"


def check_redefined(java, flags, arguments, start_target, start_profcol, directory):
    command = [java, *flags, "-Xmx64m", *arguments]
    target = start_target(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b"ready\n" in iter(target.process.stdout.readline, b"")
    receiver = {"samples_per_second": 1999, "select": {"include": [{"pid": target.pid}]}}
    exporters = {"pprof": {"directory": str(directory), "interval": "1s"}}
    start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory)
    seen = Seen(lambda: samples.of(target.pid))

    def are_seen():
        seen.read()
        decision = ODD.decide(seen.odd.total(), seen.odd.total() + seen.total())
        is_much = all(count >= SEEN for count in seen.right().values())
        return is_much and decision is not Decision.OPEN

    wait_until(are_seen, "frames of each version", BOUND_S, step_s=0.5)
    for one, frames in seen.frames.items():
        print(*one, *frames.most_common(9))
    for names, count in seen.odd.most_common(9):
        print(f"{count} without a method: {names}")
    assert not list(seen.wrong())
    assert seen.gone() <= seen.total() * GONE_MOST
    assert_rare(ODD, [(seen.odd.total(), seen.odd.total() + seen.total())], "stacks without a method")
    assert target.process.poll() is None


def cases():
    """What make test shows is where lines were those of other versions."""
    for version in JDKS:
        for flags in FLAGS:
            is_first = version == INSTALLED_BY_SETUP and flags == FLAGS[0]
            marks = () if is_first else pytest.mark.thorough
            yield pytest.param(version, flags, id=f"{version}-{' '.join(flags)}", marks=marks)


@pytest.mark.parametrize(("version", "flags"), cases())
def test_frames_of_a_redefined_class_are_of_the_version_that_ran(
    version, flags, arguments, start_target, start_profcol, tmp_path
):
    java = JDKS[version] / "bin/java"
    if not java.exists():
        assert version != INSTALLED_BY_SETUP, f"scripts/setup.sh installs {java}"
        pytest.skip(f"no JDK in {JDKS[version]}")
    check_redefined(java, flags, arguments, start_target, start_profcol, tmp_path / "out")
