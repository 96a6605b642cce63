# SPDX-License-Identifier: Apache-2.0
"""What somebody sees who has just cloned this, sits at a terminal and has not read much."""
import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal

import pytest

from profcol_run import is_alive, parse_balances, pipeline, processes, profile_paths, read_samples
from terminal import CTRL_C
from waiting import wait_until

_HEADING = re.compile(r"Hottest functions by samples \(count\), (\d+) in all")
_COLUMNS = "        flat   flat%          cum    cum%  function"
_ROW = re.compile(r" *(\d+) +\d+\.\d\d% +(\d+) +\d+\.\d\d%  (\S.*)")

# What scripts/run.sh starts to have something to see, each by what tells it from others.
_LOAD = ("/mandelbrot", "/queens.py", "/fibonacci.sh")


def table(lines):
    """[(flat, name)] of the first table in `lines`, which has rows and nothing but rows."""
    (at, *_) = [i for i, line in enumerate(lines) if _HEADING.search(line)]
    assert lines[at + 1] == _COLUMNS, lines[at : at + 3]
    rows = []
    for line in lines[at + 2 :]:
        if not (match := _ROW.fullmatch(line)):
            break
        rows.append((int(match[1]), match[3]))
    assert rows, lines[at:]
    return rows


# ---- the debug exporter ----


def start_with_table(start_terminal, program, directory, logs):
    configuration = pipeline(exporters={"debug": {"top": 5}})
    configuration["service"]["telemetry"] = {"metrics": {"level": "none"}, "logs": logs}
    path = directory / "pipeline.yaml"
    path.write_text(json.dumps(configuration))  # JSON is YAML
    return start_terminal(program, "--config", path)


def has_table(terminal):
    """A table is there, and what the log says of it."""
    heading = _HEADING.search(terminal.text)
    return heading and "otelcol.component.id" in terminal.text[heading.end() :]


def test_the_hottest_functions_are_a_table_at_a_terminal(
    start_terminal, program, burner, tmp_path
):
    terminal = start_with_table(start_terminal, program, tmp_path, {})
    terminal.wait_shown(has_table)
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text
    lines = terminal.lines
    rows = table(lines)
    assert 1 <= len(rows) <= 5
    assert [flat for flat, _ in rows] == sorted((flat for flat, _ in rows), reverse=True)
    # As in the Collector: one record, whose fields stand once, below.
    (at, *_) = [i for i, line in enumerate(lines) if _HEADING.search(line)]
    assert len(lines[at].split("\t")) == 4, lines[at]
    assert re.match(r'\t\{.*"otelcol.component.id": "debug"', lines[at + 2 + len(rows)])


def test_the_hottest_functions_are_one_record_of_json(start_terminal, program, burner, tmp_path):
    terminal = start_with_table(start_terminal, program, tmp_path, {"encoding": "json"})
    terminal.wait_shown(has_table)
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text
    (line, *_) = [line for line in terminal.lines if _HEADING.search(line)]
    assert line.startswith("{") and line.endswith("}")
    assert table(line.replace(r"\n", "\n").splitlines())


# ---- make run ----


def check_result(terminal, directory):
    """All that `make run` ends with is there; returns the table."""
    assert terminal.wait_exit() == 0, terminal.text
    (samples,) = [line for line in terminal.lines if line.startswith("samples: ")]
    balances = parse_balances(samples)
    assert len(balances) == 2, samples
    for balance in balances:
        balance.check()
        assert balance.exported > 0
    (profile,) = profile_paths(directory / "profiles")
    (last,) = [line for line in terminal.lines if line.startswith("profile: ")]
    name = f"profiles/{profile.name}"
    assert last == f"profile: {name}   (go tool pprof -top {name})"
    assert len(profile_paths(directory / "profiles")) == 1
    return table(terminal.lines)


def children_of(terminal):
    """{process id: words} of what the script at `terminal` has started."""
    found = {}
    for pid, parent in processes():
        if parent == terminal.pid:
            with contextlib.suppress(OSError):  # it has just ended
                found[pid] = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    # One that is about to execute its program has no words.
    return {pid: words for pid, words in found.items() if words}


def load_of(terminal):
    """{name: process id} of the load, once all of it runs."""
    found = {}
    for pid, words in children_of(terminal).items():
        for name in _LOAD:
            if words[0] != "taskset" and words[0] != "setpriv" and any(name in word for word in words):
                found[name] = pid
    return found if len(found) == len(_LOAD) else None


def profiler_of(terminal, program):
    """The process id of the profiler, once it runs."""
    pids = [pid for pid, words in children_of(terminal).items() if words[0] == str(program)]
    return pids[0] if pids else None


def cpu_ms(pid):
    """CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")


def assert_all_end(pids):
    wait_until(lambda: not any(map(is_alive, pids)), f"the end of {pids}")


@pytest.fixture
def run(source, program, start_terminal, tmp_path):
    """run(*arguments): scripts/run.sh at a terminal, in tmp_path or another directory."""

    def start(*arguments, directory=tmp_path):
        return start_terminal(source / "scripts/run.sh", program, *arguments, directory=directory)

    return start


def test_make_run_profiles_a_load_that_it_says_it_starts(run, tmp_path):
    wanted = {"mandelbrot::escape_time", "_PyEval_EvalFrameDefault", "execute_command_internal"}
    for number in range(3):  # names are waited for at the end, while the machine may stand still
        directory = tmp_path / str(number)
        directory.mkdir()
        names = _profile_its_load(run, directory)
        if names >= wanted:
            break
    assert names >= wanted


def _profile_its_load(run, directory):
    """The names in the profile of one run."""
    terminal = run("3600", directory=directory)
    terminal.wait_shown(lambda it: "profiling this machine for 3600 seconds" in it.text)
    assert "C++ (mandelbrot), Python (queens.py) and bash (fibonacci.sh)" in terminal.text
    assert "make run LOAD=none" in terminal.text
    load = wait_until(lambda: load_of(terminal), "the load")
    nobody = pwd.getpwnam("nobody").pw_uid
    assert {os.stat(f"/proc/{pid}").st_uid for pid in load.values()} == {nobody}
    assert len({frozenset(os.sched_getaffinity(pid)) for pid in load.values()}) == 1
    assert len(os.sched_getaffinity(load[_LOAD[0]])) == 1
    before = {pid: cpu_ms(pid) for pid in load.values()}
    wait_until(
        lambda: all(cpu_ms(pid) >= before[pid] + 500 for pid in before), "CPU time of the load", 240
    )
    terminal.press(CTRL_C)
    check_result(terminal, directory)
    assert_all_end(load.values())
    return {frame.name for sample in read_samples(directory / "profiles") for frame in sample.frames}


def test_make_run_without_its_load(run, burner, tmp_path):
    terminal = run("1", "none")
    wait_until(lambda: "profiling this machine" in terminal.text or terminal.wait_exit() == 0, "the end")
    assert not re.search("mandelbrot|queens|fibonacci", terminal.text)
    check_result(terminal, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=str)
def test_nothing_of_make_run_is_left_when_it_is_killed(run, program, number):
    terminal = run("3600")
    terminal.wait_shown(lambda it: "profiling this machine" in it.text)
    load = wait_until(lambda: load_of(terminal), "the load")
    profiler = wait_until(lambda: profiler_of(terminal, program), "the profiler")
    scratch = pathlib.Path(children_of(terminal)[load["/mandelbrot"]][0]).parent
    os.kill(terminal.pid, number)
    assert_all_end([*load.values(), profiler])
    if number == signal.SIGKILL:  # which lets nobody clear up
        shutil.rmtree(scratch)
    wait_until(lambda: not scratch.exists(), "the end of its files")


def test_ctrl_c_before_anything_runs_is_no_error(run, tmp_path):
    terminal = run("3600")
    terminal.wait_shown(lambda it: "beside it" in it.text)
    terminal.press(CTRL_C)
    assert terminal.wait_exit() in (0, 130), terminal.text
    assert "rror" not in terminal.text
    assert not children_of(terminal)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["0"], "'0' is no number of seconds from 1 to 3600; run: make run DURATION=10"),
        (["ten"], "'ten' is no number of seconds"),
        (["3", "big"], "LOAD is 'small' or 'none', not 'big'"),
    ],
)
def test_make_run_says_what_it_takes(run, tmp_path, arguments, text):
    terminal = run(*arguments)
    assert terminal.wait_exit() == 1
    assert text in terminal.text
    assert not list(tmp_path.iterdir())
