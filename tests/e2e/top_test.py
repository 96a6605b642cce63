# SPDX-License-Identifier: Apache-2.0
"""`profcol top`, as somebody at a terminal uses it."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from terminal import CTRL_C
from waiting import wait_until

_ROW = re.compile(r" *\d+ +(?P<share>\d+\.\d\d)% +\d+ +\d+\.\d\d%  (?P<function>\S.*)")
_HOME = "\033[H"


def tables(terminal):
    """[[functions]] of each screen that is complete, the first one shown first."""
    screens = terminal.text.split(_HOME)[1:-1]
    rows = [[_ROW.match(line) for line in screen.split("\r\n")] for screen in screens]
    return [[row["function"] for row in matches if row] for matches in rows]


def test_the_hottest_functions_are_shown_until_ctrl_c(start_terminal, program, burner):
    terminal = start_terminal(program, "top", "--pid", burner.pid)
    terminal.wait_shown(lambda it: sum("burn_leaf" in str(rows[:1]) for rows in tables(it)) >= 2)
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text
    assert re.search(r"[1-9]\d* samples in 10 s, [1-9]\d* processes; .* lost; Ctrl-C ends", terminal.text)


def test_what_has_ended_leaves_the_table(
    start_terminal, start_target, program, build_target, tmp_path
):
    alone = shutil.copy(build_target("burn"), tmp_path / "b-by-itself")  # others run a burn, too
    first = start_target(alone)
    terminal = start_terminal(program, "top", "--comm", "b-by-itself")
    terminal.wait_shown(lambda it: any("burn_leaf" in str(rows) for rows in tables(it)))
    first.kill()
    terminal.wait_shown(lambda it: tables(it)[-1] == [])
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text


def test_it_ends_with_the_process(start_terminal, start_target, program, build_target):
    target = start_target(build_target("burn"))
    terminal = start_terminal(program, "top", "--pid", target.pid)
    terminal.wait_shown(lambda it: any("burn_leaf" in str(rows) for rows in tables(it)))
    target.kill()
    assert terminal.wait_exit() == 0, terminal.text


def test_it_draws_within_the_terminal(start_terminal, program, burner):
    terminal = start_terminal(program, "top")
    terminal.resize(6, 50)
    terminal.wait_shown(lambda it: len(it.text.split(_HOME)) > 5)
    terminal.press(CTRL_C)
    assert terminal.wait_exit() == 0, terminal.text
    # The terminal itself shows ^C, wherever the cursor is then.
    shown = terminal.text.replace("^C", "")
    last = shown.split(_HOME)[-1].partition("\033[J")[0].split("\r\n")
    assert len(last) <= 6, last
    assert all(len(line.replace("\033[K", "")) <= 50 for line in last[:-1]), last


def test_without_a_terminal_it_prints_once(program, burner):
    # Longer than a machine stands still.
    words = [program, "top", "--pid", str(burner.pid), "--seconds", "12"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert re.fullmatch(r" *self +self% +total +total%  function, by samples \(count\)", lines[0])
    assert "burn_leaf" in lines[1] and "\033" not in result.stdout
    assert len(lines) <= 21


def samples(pid):
    """Has it begun to?"""
    try:
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    except FileNotFoundError:
        return False
    return any("perf_event" in link for link in links)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_table(program, burner, number):
    words = [program, "top", "--pid", str(burner.pid)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as run:
        wait_until(lambda: samples(run.pid), "top to sample")
        burner.wait_burnt(2000)
        run.send_signal(number)
        out, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert "burn_leaf" in out or "no samples were taken" in errors


def test_a_process_that_is_not_there_is_named(program):
    result = subprocess.run([program, "top", "--pid", "2147483647"], capture_output=True, text=True)
    assert result.returncode == 1
    assert "cannot watch process 2147483647: No such process" in result.stderr
