# SPDX-License-Identifier: Apache-2.0
"""`profcol record`, as somebody at a terminal uses it."""
import collections
import os
import pathlib
import pwd
import re
import shutil
import signal
import struct
import subprocess

import pprof_file
import pytest

from starting import starter
from terminal import CTRL_C

# CPU time of `burn`, whose program then ends with this.
_BURN_MS, _CODE = 1500, 7
_LINE = re.compile(r"(?P<stack>\S.*) (?P<count>[1-9]\d*)")


def record(program, *arguments, timeout=120, **options):
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True} | options
    words = [str(word) for word in (program, "record", *arguments)]
    return subprocess.run(words, timeout=timeout, check=False, **options)


def read_folded(path):
    """Count by stack, a tuple of names; every line must be one."""
    stacks = collections.Counter()
    text = path.read_text()
    assert text.endswith("\n")
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        assert match, line
        stacks[tuple(match["stack"].split(";"))] += int(match["count"])
    return stacks


def nothing_is_left(directory, *names):
    return sorted(path.name for path in directory.iterdir()) == sorted(names)


@pytest.fixture(scope="module")
def burn(build_target):
    """A program that computes for a while, of its own CPU time."""
    return ["sh", "-c", f'"$0" {_BURN_MS}; exit {_CODE}', build_target("burn")]


def test_a_program_is_recorded_as_pprof(program, burn, tmp_path):
    path = tmp_path / "out.pb.gz"
    result = record(program, "-o", path, "--", *burn)
    assert result.returncode == _CODE, result.stderr
    assert f"open it with: go tool pprof -http=: {path}" in result.stderr
    assert "\033" not in result.stderr  # no progress where there is no terminal
    profile = pprof_file.read(path)
    names = [[frame.name for frame in sample.frames] for sample in profile.samples]
    chain = ["burn_leaf", "burn_middle", "burn_root", "main"]
    assert any(chain == frames[:4] for frames in names)
    go = shutil.which("go")
    if go:
        top = subprocess.run(
            [go, "tool", "pprof", "-symbolize=none", "-top", path], capture_output=True, text=True
        )
        assert "burn_leaf" in top.stdout, top.stderr
    assert nothing_is_left(tmp_path, "out.pb.gz")


def test_a_program_is_recorded_folded(program, burn, tmp_path):
    path = tmp_path / "out.folded"
    chain = ("main", "burn_root", "burn_middle", "burn_leaf")
    for _ in range(5):  # a batch waits a second at most for names, in which a machine may stand still
        record(program, "-o", path, "--frequency", 199, "--", *burn)
        stacks = read_folded(path)
        total = sum(count for stack, count in stacks.items() if stack[0] == "burn")
        whole = sum(count for stack, count in stacks.items() if stack[-4:] == chain)
        if whole > 0.8 * total:
            break
    shell = pathlib.Path(shutil.which("sh")).resolve().name  # once it has executed, its file's
    assert {stack[0] for stack in stacks} <= {"burn", "sh", shell, "profcol"}
    assert whole > 0.8 * total, stacks
    assert total > 20


def test_a_process_is_recorded_for_a_while(program, build_target, start_target, tmp_path):
    target = start_target(build_target("burn"))
    path = tmp_path / "out.otlp"
    result = record(program, "-o", path, "--pid", target.pid, "--seconds", 2)
    assert result.returncode == 0, result.stderr
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        at += 4 + length
    assert at == len(data)
    assert b"burn_leaf" in data
    assert target.process.poll() is None


@pytest.fixture
def start_recording(program):
    """start_recording(arguments...): a recording that has begun; its errors can be read."""

    def start(*arguments):
        words = [program, "record", "--log-level", "info", *arguments]
        run = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
        for line in run.stderr:
            if "Everything is ready" in line:
                break
        return run

    with starter(start) as start_one:
        yield start_one


def test_a_recording_ends_with_its_process(start_recording, build_target, start_target, tmp_path):
    target = start_target(build_target("burn"))
    run = start_recording("-o", tmp_path / "out.folded", "--pid", target.pid)
    target.wait_burnt(300)
    target.kill()
    _, errors = run.communicate(timeout=90)
    assert run.returncode == 0, errors


def test_ctrl_c_writes_the_file(start_recording, build_target, start_target, tmp_path):
    target = start_target(build_target("burn"))
    path = tmp_path / "out.folded"
    run = start_recording("-o", path, "--comm", "burn")
    target.wait_burnt(500)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=90)
    assert run.returncode == 0, errors
    assert {stack[0] for stack in read_folded(path)} == {"burn"}


_PROGRESS = re.compile(r"(\d+) samples, (\d+) process(?:es)?, (\d+) lost; Ctrl-C ends")


def progress(terminal):
    """(samples, processes, lost) of each progress line that has been shown."""
    return [tuple(map(int, match.groups())) for match in terminal.shown(_PROGRESS)]


def test_a_terminal_shows_progress(program, build_target, start_target, start_terminal, tmp_path):
    # What is not recorded, and is filtered at once, while the rest is counted.
    for _ in range(2):
        start_target(build_target("burn"))
    path = tmp_path / "x.folded"
    terminal = start_terminal(program, "record", "-o", path, "--", build_target("burn"))
    # A sample counts before its process is decided on.
    terminal.wait_shown(lambda it: any(taken >= 50 and known for taken, known, _ in progress(it)))
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text
    (last,) = [line for line in terminal.lines if "open it with:" in line]
    written, lost = map(int, re.match(r"(\d+) samples, (\d+) lost, \d+ KiB in", last).groups())
    shown = progress(terminal)
    counts = [samples for samples, *_ in shown]
    assert lost or counts == sorted(counts), counts
    assert max(counts) <= written + lost, terminal.text
    # The program, and what it was before it executed: not all that the machine has.
    assert 1 <= max(processes for _, processes, _ in shown) <= 2, terminal.text
    assert f"writing '{path}'" in terminal.text
    assert not [line for line in terminal.lines if "writing" in line], terminal.lines


def test_at_a_terminal_nothing_is_left_of_the_progress(program, start_terminal, tmp_path):
    terminal = start_terminal(program, "record", "-o", tmp_path / "x.folded", "--", "sleep", "1")
    assert terminal.wait_exit() == 0, terminal.text
    (last,) = [line for line in terminal.lines if "no samples were taken" in line or "KiB" in line]
    assert re.match(r"no samples were taken, '|\d+ samples", last), terminal.lines
    assert {samples for samples, *_ in progress(terminal)} <= {0, 1, 2}, terminal.text


def test_the_exit_code_is_the_programs(program, tmp_path):
    result = record(program, "-o", tmp_path / "a.folded", "--", "sh", "-c", "exit 7")
    assert result.returncode == 7, result.stderr
    result = record(program, "-o", tmp_path / "b.folded", "--", "no-such-program")
    assert result.returncode == 127
    assert "cannot run 'no-such-program': No such file or directory" in result.stderr
    assert not (tmp_path / "b.folded").exists()
    assert not list(tmp_path.glob(".profcol*"))


def test_under_sudo_the_program_is_the_callers(program, open_path):
    nobody = pwd.getpwnam("nobody")
    os.chown(open_path, nobody.pw_uid, nobody.pw_gid)
    path = open_path / "out.folded"
    environment = os.environ | {"SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid)}
    shell = "id -u; id -g; echo $HOME; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    result = record(program, "-o", path, "--", "sh", "-c", shell, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(nobody.pw_uid), str(nobody.pw_gid), nobody.pw_dir]
    assert path.stat().st_uid == nobody.pw_uid


def test_an_old_file_stays_until_there_is_a_new_one(program, tmp_path):
    path = tmp_path / "out.folded"
    path.write_text("old 1\n")
    result = record(program, "-o", path, "--pid", 2**30)
    assert result.returncode == 1
    assert "cannot record process 1073741824: No such process" in result.stderr
    assert path.read_text() == "old 1\n"
    assert nothing_is_left(tmp_path, "out.folded")


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--seconds", "2"], 2, "'record' needs a file to write: -o FILE.pb.gz"),
        (["-o", "x.png"], 2, "cannot tell the format of 'x.png' by its ending"),
        (["-o", "x.folded", "--pidd", "3"], 2, "did you mean '--pid'?"),
        (["-o", "x.folded", "--pid", "0"], 2, "flag '--pid' takes a whole number from 1"),
        (["-o", "x.folded", "--pid", "1", "--comm", "a"], 2, "takes one of --pid, --comm"),
        (["-o", "x.folded", "./shop"], 2, "a program to run stands behind '--': -- ./shop"),
        (["-o", "x.folded", "--config", "a.yaml"], 2, "has no meaning for 'record'"),
        (["-o", "no/x.folded", "--seconds", "1"], 1, "create its directory first"),
    ],
)
def test_wrong_usage(program, tmp_path, arguments, code, message):
    result = record(program, *arguments, cwd=tmp_path)
    assert (result.returncode, message in result.stderr) == (code, True), result.stderr
    assert nothing_is_left(tmp_path)
