# SPDX-License-Identifier: Apache-2.0
"""Code that a program has made has the name that the program gives it: in a perf map, which anybody
may write anything into.
"""
import contextlib
import os
import pathlib
import shutil
import struct
import subprocess
from collections import Counter

import pytest

from made_names import PID, Producer, assert_named
from profcol_run import pipeline, read_profile
from profile_files import Samples
from target_run import cpu_ms
from waiting import wait_until

NAME = "made by hand"
UNNAMED = "[JIT made_code]"
NOBODY = 65534
ENOUGH_MS = 1500  # of CPU time: some names are asked for once a second


class Made:
    """A program that computes in code of its own making."""

    def __init__(self, start_target, *command, **options):
        self.target = start_target(*command, stdout=subprocess.PIPE, text=True, **options)
        self.start, self.size = self.target.process.stdout.readline().split()
        self.map = pathlib.Path(f"/tmp/perf-{self.target.pid}.map")

    def entry(self, name=NAME):
        return f"{self.start} {self.size} {name}\n"


@pytest.fixture
def make(start_target, build_target):
    with contextlib.ExitStack() as cleanup:

        def start(*prefix, arguments=(), **options):
            command = (*prefix, build_target("made_code"), *arguments)
            made = Made(start_target, *command, **options)
            cleanup.callback(made.map.unlink, missing_ok=True)
            return made

        yield start


@pytest.fixture
def names_of(start_profcol, tmp_path):
    """What the leaves of the program's samples are called, after it has run for some time."""
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()

    def read(made, milliseconds=ENOUGH_MS, pid=None):
        pid = pid or made.target.pid
        goal = cpu_ms(pid) + milliseconds
        wait_until(lambda: cpu_ms(pid) >= goal, f"{milliseconds} ms of CPU time")
        run.stop()
        first = int(made.start, 16)
        made_ones = [
            sample
            for sample in read_profile(tmp_path / "out").of_pid(pid)
            if sample.frames and first <= sample.frames[0].address < first + 4096
        ]
        assert sum(sample.count for sample in made_ones) >= 50
        callers = [sample.frames[1].file for sample in made_ones if not sample.mark]
        assert all(caller.endswith("/made_code") for caller in callers), Counter(callers)
        return {sample.frames[0].name for sample in made_ones}

    return read


def are_named(names):
    """What was sampled before the map had been read may be without its name."""
    return NAME in names and names <= {NAME, UNNAMED}


def test_code_has_the_name_of_its_map(make, names_of):
    made = make()
    made.map.write_text(made.entry())
    assert are_named(names_of(made))


@pytest.mark.parametrize("memory", ["shared", "twice"])
def test_code_in_memory_that_looks_like_a_file(make, names_of, memory):
    """As compilers have it that write code at another place than where it is executed."""
    made = make(arguments=[memory])
    made.map.write_text(made.entry())
    assert are_named(names_of(made))


def test_a_map_may_come_later(make, start_profcol, tmp_path):
    """And code may be entered into it later than other code."""
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    start_profcol(pipeline(exporters=exporters)).wait_ready()
    made = make()
    samples = Samples(tmp_path / "out")

    def is_called(name):
        return any(sample.frames[0].name == name for sample in samples.of(made.target.pid))

    wait_until(lambda: is_called(UNNAMED), "a sample without a name")
    made.map.write_text("1000 10 something else\n")
    samples.wait_latest()
    with made.map.open("a") as file:
        file.write(made.entry())
    wait_until(lambda: is_called(NAME), "a sample with a name")


def test_a_map_may_be_written_anew(make, start_profcol, tmp_path):
    """As JVMs do, and not be longer than before."""
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    start_profcol(pipeline(exporters=exporters)).wait_ready()
    made = make()
    elsewhere = made.entry().replace(made.start, f"{1:0{len(made.start)}x}", 1)
    made.map.write_text(elsewhere)
    samples = Samples(tmp_path / "out")

    def is_called(name):
        return any(sample.frames[0].name == name for sample in samples.of(made.target.pid))

    wait_until(lambda: is_called(UNNAMED), "a sample without a name")
    samples.wait_latest()
    assert len(made.entry()) == len(elsewhere)
    made.map.write_text(made.entry())
    wait_until(lambda: is_called(NAME), "a sample with a name")


def test_the_newest_entry_counts(make, names_of):
    made = make()
    made.map.write_text(made.entry("old") + made.entry())
    assert are_named(names_of(made))


def test_a_process_is_known_by_its_own_number(make, names_of, tmp_path):
    """In a PID namespace, and with a /tmp of its own."""
    script = 'exec 3<"$0" && mount -t tmpfs none /tmp && exec /proc/self/fd/3'
    made = make("unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", script)
    (child,) = _children(made.target.pid)
    inner = pathlib.Path(f"/proc/{child}/root/tmp")
    (inner / "perf-1.map").write_text(made.entry())
    assert are_named(names_of(made, pid=child))


def _children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    wait_until(path.read_text, "a child")
    return [int(number) for number in path.read_text().split()]


def test_the_caller_of_code_without_a_frame_is_not_left_out(make, names_of):
    """Most samples are of instructions before the frame is made, or after it is left."""
    assert names_of(make(arguments=["short"])) == {UNNAMED}


# ---- what nobody is to be taken in by ----


def fifo(made, tmp_path):
    os.mkfifo(made.map)


def link_to_a_secret(made, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(made.entry("secret"))
    secret.chmod(0o600)
    made.map.symlink_to(secret)


def somebody_elses(made, tmp_path):
    made.map.write_text(made.entry("somebody else's"))
    os.chown(made.map, NOBODY, NOBODY)


def older_than_the_process(made, tmp_path):
    made.map.write_text(made.entry("of an earlier process"))
    os.utime(made.map, (1, 1))


def directory(made, tmp_path):
    made.map.mkdir()


def empty(made, tmp_path):
    made.map.touch()


def nonsense(made, tmp_path):
    made.map.write_bytes(os.urandom(1 << 20))


def endless_line(made, tmp_path):
    with made.map.open("w") as file:
        file.write("1000 10 ")
        file.truncate(500 << 20)


@pytest.mark.sanitized
@pytest.mark.parametrize(
    "forge",
    [
        fifo,
        link_to_a_secret,
        somebody_elses,
        older_than_the_process,
        directory,
        empty,
        nonsense,
        endless_line,
    ],
    ids=lambda forge: forge.__name__,
)
def test_a_map_that_is_none(make, names_of, tmp_path, forge):
    """The code has no name, and all else is as it was."""
    made = make()
    try:
        forge(made, tmp_path)
        assert names_of(made) == {UNNAMED}
    finally:
        if made.map.is_dir():
            shutil.rmtree(made.map)


def test_what_is_no_file_is_not_even_opened(make, names_of, tmp_path):
    """To open it may have effects: here somebody waits for it."""
    made = make()
    os.mkfifo(made.map)
    waits, opened = tmp_path / "waits", tmp_path / "opened"
    script = 'touch "$1"; exec 3>"$0"; touch "$2"; exec sleep 1h'
    with subprocess.Popen(["sh", "-c", script, made.map, waits, opened]) as writer:
        try:
            wait_until(waits.exists, "the writer")
            assert names_of(made) == {UNNAMED}
            assert not opened.exists()
        finally:
            writer.kill()


def test_a_long_name_is_cut_and_printable(make, names_of):
    made = make()
    made.map.write_bytes(
        f"{made.start} {made.size} ".encode() + b"\x1b[31m\xff" + b"x" * (1 << 20) + b"\n"
    )
    (name,) = names_of(made) - {UNNAMED}
    assert 1000 < len(name) < 4096 and name.endswith("x")
    assert "\x1b" not in name


# ---- jitdump ----

JITDUMP_HEAD = 40  # bytes


def jitdump(made, name):
    """A file as `perf inject --jit` reads it: header, lines, code."""
    start, size = int(made.start, 16), int(made.size, 16)
    head = struct.pack("=IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, made.target.pid, 0, 0)
    lines = struct.pack("=QQ", start, 1) + struct.pack("=QII", start, 77, 0) + b"made.x\0"
    load = struct.pack("=IIQQQQ", made.target.pid, made.target.pid, start, start, size, 1)
    load += name.encode() + b"\0" + bytes(size)
    records = b""
    for kind, body in ((2, lines), (0, load)):
        records += struct.pack("=IIQ", kind, 16 + len(body), 0) + body
    return head + records


def test_a_jitdump_has_names_and_lines(make, names_of, tmp_path):
    dump = tmp_path / "jit-1.dump"
    made = make(arguments=["private", dump], stdin=subprocess.PIPE)
    dump.write_bytes(jitdump(made, NAME))
    made.target.process.stdin.write("\n")
    made.target.process.stdin.flush()
    assert are_named(names_of(made))


def test_a_jitdump_grows(make, start_profcol, tmp_path):
    """Code is compiled, and written down, as long as the program runs."""
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    start_profcol(pipeline(exporters=exporters)).wait_ready()
    dump = tmp_path / "jit-1.dump"
    made = make(arguments=["private", dump], stdin=subprocess.PIPE)
    records = jitdump(made, NAME)
    dump.write_bytes(records[:JITDUMP_HEAD])
    made.target.process.stdin.write("\n")
    made.target.process.stdin.flush()
    samples = Samples(tmp_path / "out")

    def is_called(name):
        return any(sample.frames[0].name == name for sample in samples.of(made.target.pid))

    wait_until(lambda: is_called(UNNAMED), "a sample without a name")
    with dump.open("ab") as file:
        file.write(records[JITDUMP_HEAD:])
    wait_until(lambda: is_called(NAME), "a sample with a name")


# ---- producers ----


@pytest.mark.thorough
def test_java(source, start_profcol, start_target, tmp_path):
    """`jcmd PID Compiler.perfmap` has it write what its code is called at that moment."""
    if not shutil.which("jcmd"):
        pytest.skip("needs a JDK: apt-get install openjdk-17-jdk-headless")
    program = source / "tests/targets/made_names/Hot.java"
    subprocess.run(["javac", "-d", tmp_path, program], check=True, timeout=120)
    options = ("-XX:+PreserveFramePointer", "-XX:CompileCommand=dontinline,Hot.*")
    producer = Producer(
        name="java",
        command=("java", *options, "-cp", ".", "Hot", "10000"),  # compiled for good within moments
        hot="int Hot.innermost(int)",
        caller="int Hot.middle(int)",
        disabled=("hotspot",),
        tell=("jcmd", PID, "Compiler.perfmap"),
    )
    target = start_target(*producer.command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        target.wait_burnt(1000)
        assert_named(producer, start_profcol, target, tmp_path / "out")
    finally:
        pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)


def test_node(start_profcol, start_target, tmp_path):
    """Its JIT code; what it interprets has no code of its own."""
    if not shutil.which("node"):
        pytest.skip("needs node: apt-get install nodejs")
    script = tmp_path / "hot.js"
    script.write_text(
        """
        function hottest(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0;
          return x }
        for (;;) hottest(1000000);
        """
    )
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    start_profcol(pipeline(exporters=exporters)).wait_ready()
    found = Samples(tmp_path / "out")
    target = start_target("node", "--perf-basic-prof", script, cwd=tmp_path)

    def is_hot(sample):
        return any("hottest" in (name or "") for name in sample.names)

    try:
        # Before, it starts, and the map is not known.
        wait_until(lambda: any(map(is_hot, found.of(target.pid))), "a name", step_s=0.5)
        known = len(found.of(target.pid))

        def count(wanted=None):
            later = found.of(target.pid)[known:]
            return sum(sample.count for sample in later if wanted is None or wanted(sample))

        wait_until(lambda: count() >= 100, "samples of it", step_s=0.5)
        samples = found.of(target.pid)[known:]
        others = Counter()
        for sample in samples:
            others[sample.names[0]] += sample.count
        assert count(is_hot) >= 0.8 * count(), others.most_common(5)
    finally:
        pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)
