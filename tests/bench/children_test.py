# SPDX-License-Identifier: Apache-2.0
"""Processes of a run: they end with it, and what they use is counted."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import bench
import children
import due
import journal
import measure
import perf_record
import plan
import profilers
import process_usage
import pytest

_HERE = pathlib.Path(__file__).resolve().parent
# Its own child is a shell, which has a child when it prints: a profiler behind a launcher looks so.
_PARENT = """
import children, signal, subprocess
script = "sleep 600 & echo forked; wait"
process = children.start(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
children.read_line(process, "word")
print(process.pid, flush=True)
signal.pause()
"""


def _is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_children_die_with_a_killed_runner():
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], cwd=_HERE, stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    assert _is_alive(child)
    parent.kill()
    parent.wait()
    try:
        children.wait_until(lambda: not _is_alive(child), "end of the child", 30)
    finally:
        # The shell's own child is not ours to end: only what the run starts itself is.
        os.killpg(child, signal.SIGKILL)


def test_a_stopped_child_leaves_nothing_of_its_session():
    process = children.start(["sh", "-c", "trap '' TERM; sleep 600 & echo $!; wait; sleep 600"],
                             stdout=subprocess.PIPE, text=True)  # fmt: skip
    inner = int(children.read_line(process, "pid"))
    assert process.pid in process_usage.tree(process.pid)
    assert inner in process_usage.tree(process.pid)
    assert children.stop(process, bound_s=0.2) == -signal.SIGKILL
    children.wait_until(lambda: not _is_alive(inner), "end of the inner process", 30)


def test_a_silent_or_failing_child_is_told():
    with children.running(["sleep", "600"], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(children.ChildFailed, match="no word from sleep 600: it was silent"):
            children.read_line(process, "word", 0.05)
    with children.running(["true"], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(children.ChildFailed, match="it has ended"):
            children.read_line(process, "word")
    with pytest.raises(children.ChildFailed, match="ended with 3: lost"):
        children.output(["sh", "-c", "echo lost >&2; exit 3"])


def test_cpu_time_of_ended_children_counts():
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    before, spent = process_usage.Cpu.of(os.getpid()), time.process_time()
    subprocess.run([sys.executable, "-c", burn], check=True)
    used = process_usage.Cpu.of(os.getpid()).since(before)
    assert used["total_s"] > 0.18 + time.process_time() - spent
    assert used["total_s"] == pytest.approx(used["user_s"] + used["system_s"])


def test_peaks_are_those_of_the_kernel():
    grow = "import sys; block = b'x' * (32 << 20); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with children.running([sys.executable, "-c", grow], **pipes) as process:
        children.read_line(process, "word")
        with process_usage.MemoryWatch(process.pid) as watch:
            watch.look()
        peaks = watch.peaks()
    assert peaks["processes"] == 1
    assert 32 << 20 < peaks["peak_anonymous_bytes"] <= peaks["peak_rss_bytes"] < 256 << 20


def test_what_a_process_holds_now_is_that_of_its_tree():
    files = "held = [open('/dev/null') for _ in range(5)]"
    fork = "import os, signal\nif not os.fork(): signal.pause()"
    command = [sys.executable, "-c", f"{files}\n{fork}\nprint(flush=True)\nsignal.pause()"]
    with children.running(command, stdout=subprocess.PIPE, text=True) as process:
        children.read_line(process, "word")
        held = process_usage.held_now(process.pid)
        own = len([*pathlib.Path(f"/proc/{process.pid}/fd").iterdir()])
        assert own >= 8
        assert held["descriptors"] == 2 * own and held["processes"] == 2
        assert 0 < held["anonymous_bytes"] < held["rss_bytes"] < 256 << 20
    assert process_usage.held_now(process.pid)["rss_bytes"] == 0


def _snapshot(user, run_cnt, ids=(1,)):
    return {
        "idle": 1,
        "kernel": 2,
        "user": user,
        "other": 3,
        "names": {"python3": user} if user else {},
        "programs": [
            {"id": each, "run_cnt": run_cnt, "run_time_ns": 10 * run_cnt} for each in ids
        ],
        "maps": [],
    }


def test_only_what_happened_between_two_snapshots_counts():
    before, after = _snapshot(0, 5), _snapshot(7, 8, (1, 2))
    assert due.difference(before, after) == {
        "idle": 0, "kernel": 0, "user": 7, "other": 0, "names": {"python3": 7},
    }  # fmt: skip
    assert due.ids_since(before, after, "programs") == {2}
    assert due.programs_between(before, after, {1, 2}) == [
        {"id": 1, "run_cnt": 3, "run_time_ns": 30},
        {"id": 2, "run_cnt": 8, "run_time_ns": 80},
    ]


def test_a_process_that_is_gone_has_no_children():
    process = children.start(["true"])
    process.wait()
    assert process_usage.tree(process.pid) == [process.pid]
    with process_usage.MemoryWatch(process.pid) as watch:
        watch.look()
    assert watch.peaks()["processes"] == 0


class _FakeMeter:
    def __init__(self, *snapshots):
        self._snapshots = list(snapshots)

    def snapshot(self):
        return self._snapshots.pop(0)


def _program(id_, count):
    type_ = measure.BPF_PROG_TYPE_PERF_EVENT
    return {"id": id_, "type": type_, "name": "sample", "run_time_ns": count, "run_cnt": count}


def _bpf_snapshot(programs, maps):
    return {
        "programs": [_program(*each) for each in programs],
        "maps": [{"id": i} for i in maps],
        "counters": [{"id": i, "name": f"of_{i}", "values": [i, len(programs)]} for i in maps],
    }


def _window_bpf(monkeypatch, others_before, others_after):
    """The account of a process that holds program 2 and map 12, which has the inner map 13."""
    own = process_usage.Held({2}, {12})
    answers = iter([(own, others_before), (own, others_after)])
    monkeypatch.setattr(measure, "bpf_objects_held", lambda _: next(answers))
    before = _bpf_snapshot([(1, 5), (2, 10)], [11, 12])
    after = _bpf_snapshot([(1, 9), (2, 17), (3, 8)], [11, 12, 13, 14])
    with children.running(["sleep", "600"]) as process:
        window = measure.Window(_FakeMeter(before, after), process)
        window.open()
        window.close()
        return window.bpf(_bpf_snapshot([(1, 1)], [11]))


def test_bpf_objects_of_others_are_not_the_profilers(monkeypatch):
    other = process_usage.Held({1, 3}, {11, 14})
    none = process_usage.Held({1}, {11})
    for others in ((none, other), (other, none)):
        found = _window_bpf(monkeypatch, *others)
        assert [(each["id"], each["run_cnt"]) for each in found["programs"]] == [(2, 7)]
        assert [each["id"] for each in found["maps"]] == [12, 13]
        assert [each["id"] for each in found["maps_at_start"]] == [12]
        assert found["counters"] == {"of_12": [0, 1], "of_13": [13, 3]}
    with pytest.raises(children.ChildFailed, match="another profiler's BPF program sample ended"):
        _window_bpf(monkeypatch, none, none)


def test_a_profiler_that_ends_in_the_window_has_failed():
    process = children.start(["true"])
    process.wait()
    window = measure.Window(_FakeMeter(_bpf_snapshot([], []), _bpf_snapshot([], [])), process)
    window.open()
    with pytest.raises(children.ChildFailed, match="ended before the measurement did"):
        window.close()


def test_perf_is_left_out_where_it_does_not_work(monkeypatch, capsys):
    def refuse():
        raise children.ChildFailed("no permission")

    monkeypatch.setattr(perf_record, "check", refuse)
    compared = profilers.Profilers(pathlib.Path("profcol"))
    monkeypatch.setattr(compared, "otlp", lambda _: None)
    monkeypatch.setattr(profilers, "peer", lambda _: None)
    assert compared.usable(["profcol", "perf"]) == ["profcol"]
    assert "left out: perf record does not work here (no permission)" in capsys.readouterr().err
    with pytest.raises(profilers.NotAvailable, match="scripts/setup.sh bench"):
        compared.usable(["perf"])


@pytest.mark.parametrize(
    ("failure", "text"),
    [(TimeoutError("still not"), "still not"), (KeyError("key"), "'key'"), (OSError(), "OSError")],
)
def test_a_measurement_that_fails_is_noted(monkeypatch, tmp_path, failure, text):
    def fail(*_):
        raise failure

    monkeypatch.setattr(measure, "measure", fail)
    run = journal.Journal(tmp_path)
    step = plan.Step(plan.Case("deep", 99), 1, "profcol")
    bench.run_step(None, step, run)
    assert run.measurements()[step.key]["failed"] == text
    assert run.remaining([step]) == [step]
