# SPDX-License-Identifier: Apache-2.0
"""From raw starts of profilers on a busy machine to the table."""
import pathlib

import children
import inspection
import plan
import pytest
import report
import start
import start_figures
import start_run


def _process(seen_s, complete_s, program="cxx", samples=4, complete=3):
    return {
        "program": program,
        "seen_s": seen_s,
        "complete_s": complete_s,
        "samples": samples,
        "complete": complete,
    }


def _measurement(profiler="profcol", number=1, processes=(), **changes):
    """Four processes have theirs after 1, 2, 3 and 4 s; 0.1 s of CPU time are used in a second,
    and 0.01 s of BPF time.
    """
    return {
        "profiler": profiler,
        "round": number,
        "due": {"idle": 9, "kernel": 1, "user": 999, "other": 0, "names": {}},
        "cpu": [[5, 0.5], [10, 1.0], [20, 2.0]],
        "bpf": [[1, 0.01], [20, 0.2]],
        "processes": list(processes) or [_process(each / 2, each) for each in (3, 1, 4, 2)],
    } | changes


def test_a_share_that_never_came_to_it_has_no_time():
    times = [4, 1, None, 3, 2]
    assert [start_figures.quantile(times, share) for share in (0.2, 0.5, 0.8)] == [1, 3, 4]
    assert start_figures.quantile(times, 1) is None
    assert start_figures.quantile([], 0.5) is None
    assert start_figures.quantile([*range(1, 201)], 0.95) == 190


def test_costs_lie_between_the_readings_around():
    readings = [[1, 10], [3, 30], [3, 32]]
    found = [start_figures.cost_at(readings, when) for when in (0.5, 1, 2, 3)]
    assert found == [5, 10, 20, 30]
    assert start_figures.cost_at(readings, 3.1) is None


def test_each_figure_of_a_start():
    summary = start_figures.summarize([_measurement()])
    values = {label: spread and spread.value for label, spread in summary.items()}
    assert values == pytest.approx(
        {
            "processes seen": 4,
            "processes with a complete stack": 4,
            "start to the first sample of half of the processes": 1,
            "start to the first complete stack of half of the processes": 2,
            "start to the first complete stack of 95 % of them": 4,
            "start to the first complete stack of all of them": 4,
            "the same, mean of those that had one": 2.5,
            "agent, CPU time until half of the processes had one": 0.2,
            "agent, CPU time until 95 % of them had one": 0.4,
            "agent, CPU time until all of them had one": 0.4,
            "agent, CPU time 15 s after the start": 1.5,
            "agent and BPF, CPU time until half of the processes had one": 0.22,
            "agent and BPF, CPU time until 95 % of them had one": 0.44,
            "agent and BPF, CPU time until all of them had one": 0.44,
            "agent and BPF, CPU time 15 s after the start": 1.65,
        }
    )


def _result(*measurements):
    return {
        "identity": {"commit": "abc", "seconds": 20, "rate": 99, "profilers": ["profcol"]},
        "machine": {
            "cpus": 2,
            "model": "a CPU",
            "memory_mib": 2048,
            "l3_kib": 32768,
            "kernel": "6.18",
            "versions": {"profcol": "profcol version 1"},
        },
        "finished": "2026-11-22",
        "measurements": list(measurements),
    }


def test_the_table_has_medians_spread_and_ratio():
    slow = [_process(each, 2 * each) for each in (3, 1, 4, 2)]
    text = start_figures.tables(
        _result(_measurement(), _measurement("reference", processes=slow))
    )
    assert "Samples due: profcol 1,000 (rounds: 1), reference 1,000 (rounds: 1)." in text
    assert "Of other programs: 0.0 % at most." in text and "quiet" not in text
    assert "| start to the first complete stack of all of them, s | 4.00 | 8.00 | 0.50 |" in text
    assert "| agent, CPU time 15 s after the start, s | 1.50 | 1.50 | 1.00 |" in text
    assert "| `cxx` | 4 of 4 | 2.00 | 75.0 | 4 of 4 | 4.00 | 75.0 |" in text


def test_a_round_that_never_came_to_it_leaves_no_figure():
    some = [_process(1, 1), _process(2, 2), _process(3, None, "llvm", complete=0),
            _process(None, None, "llvm", samples=0, complete=0)]  # fmt: skip
    text = start_figures.tables(_result(_measurement(), _measurement(number=2, processes=some)))
    assert "| processes seen | 3.50 (3.00…4.00) |" in text
    assert "| processes with a complete stack | 3.00 (2.00…4.00) |" in text
    assert "| start to the first complete stack of half of the processes, s | 2.00 |" in text
    assert "| start to the first complete stack of all of them, s | – |" in text
    assert "| agent, CPU time until all of them had one, s | – |" in text
    assert "| `llvm` | 0 of 2 | – | 0.0 |" in text


def test_other_programs_and_failures_are_told():
    due = {"idle": 0, "kernel": 0, "user": 900, "other": 100, "names": {"cc1": 100}}
    failed = {"profiler": "reference", "round": 1, "failed": "no permission\nat all"}
    text = start_figures.tables(_result(_measurement(due=due), failed))
    assert "Of other programs: 10.0 % at most. **Not a quiet machine.**" in text
    assert "- reference, round 1: no permission\n" in text
    assert "no permission" in start_figures.tables(_result(failed))


def test_processes_of_the_load_are_found_by_their_number(monkeypatch):
    listed = [
        {"pid": "7", "first_unix_nano": 11 * 10**9, "first_complete_unix_nano": 0,
         "observations": 2, "complete": 0},
        {"pid": "99", "first_unix_nano": 11 * 10**9, "first_complete_unix_nano": 12 * 10**9,
         "observations": 5, "complete": 5},
    ]  # fmt: skip
    monkeypatch.setattr(inspection, "processes", lambda *_: listed)
    found = start_run.first_stacks("stream", 10, 20, {"cxx": [7], "llvm": [8]})
    assert found == [
        _process(1, None, "cxx", samples=2, complete=0),
        _process(None, None, "llvm", samples=0, complete=0),
    ]
    with pytest.raises(children.ChildFailed, match="another PID namespace"):
        start_run.first_stacks("stream", 10, 20, {"cxx": [8]})


def test_the_tables_go_into_the_docs(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(start.DOCS.read_text())
    report.write_docs(page, "new", "start")
    assert f"{report.BEGIN.format('start')}\n\nnew\n" in page.read_text()


def test_an_unknown_profiler_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="no profiler perf; there is profcol, reference"):
        plan.known_profilers(["profcol", "perf"], start_figures.COLUMNS)
    with pytest.raises(ValueError, match="no profiler given"):
        plan.known_profilers([""], start_figures.COLUMNS)
    assert pathlib.Path(start.__file__).stat().st_mode & 0o100
