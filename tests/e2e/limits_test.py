# SPDX-License-Identifier: Apache-2.0
"""A great many mappings, processes and files: what is bounded is bounded in bytes, what had to go
is counted, and the stacks of who runs are whole all the same."""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import pprof_file
from proc_files import proc_files
from profcol_run import pipeline, profile_paths
from target_run import Target
from waiting import wait_until

RATE = 199
MAPPINGS = 10_000
MIB = 1 << 20
OTHER_BYTES = 24 * MIB  # of batches, names and workers, on a machine on which much else happens
LEAST_WHOLE = 0.97  # of a program that was there before
LIFE_US = 4000
SMALL = {"process_memory": "2MiB", "unwind_memory": "2MiB"}
# What else runs takes its part of small ones: they want a machine of their own.
BUDGETS = (
    pytest.param({}, id="usual"),
    pytest.param(SMALL, id="small", marks=pytest.mark.slow),
)
BURN_CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")
CHAIN = ("burn_leaf", "relay", "third", "relay", "second", "relay", "first", "main")
PID_MAX = pathlib.Path("/proc/sys/kernel/pid_max")


@pytest.fixture(scope="module")
def build(source, tmp_path_factory):
    """build(name, *flags): a program of tests/targets."""
    directory = tmp_path_factory.mktemp("programs")

    def compile_one(name, *flags, path=None):
        path = path or directory / name
        command = ["gcc", "-g", "-O2", *flags, source / f"tests/targets/{name}.c", "-o", path]
        subprocess.run(command, check=True)
        return path

    return compile_one


@pytest.fixture(scope="module")
def relay(build, tmp_path_factory):
    """A library of one function."""
    path = tmp_path_factory.mktemp("relay") / "relay.so"
    flags = ("-DLIBRARY", "-shared", "-fPIC", "-nostdlib", "-fomit-frame-pointer")
    return build("many_mappings", *flags, path=path)


@pytest.fixture
def copies(relay, tmp_path):
    """copies(count): a list, in a file, of so many libraries like `relay`, each another one."""

    def make(count):
        code = relay.read_bytes()
        directory = tmp_path / "copies"
        directory.mkdir()
        paths = [directory / f"copy_{number}.so" for number in range(count)]
        for number, path in enumerate(paths):
            path.write_bytes(code + number.to_bytes(8, "little"))
        listed = tmp_path / "list"
        listed.write_text("".join(f"{path}\n" for path in paths))
        return listed

    return make


@contextlib.contextmanager
def highest_pid(number):
    """The kernel gives numbers of processes up to `number`; then what it was."""
    before = PID_MAX.read_text()
    if number > int(before):
        PID_MAX.write_text(str(number))
    try:
        yield
    finally:
        PID_MAX.write_text(before)


def descriptors_of(run):
    return len(list(pathlib.Path(f"/proc/{run.pid}/fd").iterdir()))


def cpu_ms_of(run):
    stat = pathlib.Path(f"/proc/{run.pid}/stat").read_text()
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks * 1000 // os.sysconf("SC_CLK_TCK")


def samples_of(run, pid, before=()):
    """In its files but those of `before`."""
    for path in profile_paths(run.directory / "profiles"):
        if path not in before:
            yield from pprof_file.read(path).of_pid(pid)


def share_of_whole(run, pid, before):
    """Of the stacks of `pid`, since the files of `before`."""
    ends = collections.Counter()
    for sample in samples_of(run, pid, before):
        ends[sample.mark or "whole"] += sample.count
    print(dict(ends))
    assert ends.total() >= 200, "too few to judge by"
    return ends["whole"] / ends.total()


def judge(run, pid, chain):
    """How often the stacks of `pid` that end in user code are like `chain`, cut (and why), or
    wrong."""
    verdicts = collections.Counter()
    for sample in samples_of(run, pid):
        names = tuple(sample.names)
        if "burn_leaf" not in names:
            continue
        at = names.index("burn_leaf")  # above it, interrupts
        mark = sample.mark
        if not mark:
            mark = "true" if names[at : at + len(chain)] == chain else "wrong"
            if mark == "wrong":
                print(names)
        verdicts[mark] += sample.count
    print(dict(verdicts))
    return verdicts


def start(start_profcol, directory, **more):
    receiver = {"samples_per_second": RATE} | more
    exporters = {"pprof": {"directory": str(directory / "run/profiles"), "interval": "1s"}}
    return start_profcol(
        pipeline(receiver=receiver, exporters=exporters), directory / "run"
    ).wait_ready()


def start_burner(start_target, build_target, run):
    """A program whose files are known by now, and the profiles of that time."""
    target = start_target(build_target("burn")).wait_burnt(1000)
    known = profile_paths(run.directory / "profiles")
    wait_until(lambda: len(profile_paths(run.directory / "profiles")) > len(known) + 1, "profiles")
    return target, set(profile_paths(run.directory / "profiles"))


def report(run, what):
    metrics = run.metrics()
    names = (
        "processes_known", "processes_memory_bytes", "processes_evicted_total",
        "processes_refused_total", "processes_records_lost_total", "processes_files_open",
        "processes_files_refused_total",
        "unwind_processes", "unwind_files", "unwind_pages",
        "unwind_memory_bytes", "unwind_memory_used_bytes", "unwind_processes_refused_total",
        "unwind_processes_evicted_total", "unwind_ranges_dropped_total",
        "unwind_pages_evicted_total", "unwind_pages_refused_total", "unwind_notes_dropped_total",
    )  # fmt: skip
    values = {name: int(metrics.value(f"profcol_{name}") or 0) for name in names}
    print(what, f"{run.memory_bytes() / MIB:.1f} MiB, {descriptors_of(run)} descriptors,",
          f"{cpu_ms_of(run)} ms CPU;", values)  # fmt: skip


def counters(run, *names):
    metrics = run.metrics()
    values = {name: int(metrics.value(f"profcol_{name}_total")) for name in names}
    print(values)
    return values


def start_mapped(start_target, build, count, listed):
    program = build("many_mappings", "-fno-optimize-sibling-calls")
    return start_target(program, count, listed)


@pytest.mark.sanitized
@pytest.mark.parametrize("first", ("profcol", "target"))
def test_stacks_go_through_mappings_at_both_ends(
    first, start_profcol, start_target, build, relay, tmp_path
):
    listed = tmp_path / "list"
    listed.write_text(f"{relay}\n")
    if first == "profcol":
        run = start(start_profcol, tmp_path)
        target = start_mapped(start_target, build, MAPPINGS, listed)
    else:
        target = start_mapped(start_target, build, MAPPINGS, listed).wait_burnt(100)
        run = start(start_profcol, tmp_path)
    target.wait_burnt(6000)
    report(run, "mappings")
    assert run.metrics().value("profcol_unwind_ranges_dropped_total") == 0
    run.stop()
    verdicts = judge(run, target.pid, CHAIN)
    assert verdicts["true"] >= 300
    assert verdicts["true"] >= 0.8 * verdicts.total()
    assert not verdicts["wrong"]


@pytest.mark.parametrize("count", (5000, pytest.param(50_000, marks=pytest.mark.slow)))
@pytest.mark.parametrize("more", BUDGETS)
def test_many_processes_that_sleep(
    count, more, start_profcol, start_target, build, build_target, tmp_path
):
    run = start(start_profcol, tmp_path, **more)
    burner, before = start_burner(start_target, build_target, run)
    at_first = run.memory_bytes()
    report(run, "before")
    program = build("sleepers", "-static")
    with highest_pid(2 * count + 65536):
        sleepers = Target(program, count, stdout=subprocess.PIPE)
        try:
            assert sleepers.process.stdout.readline() == b"asleep\n"
            burner.wait_burnt(3000)
            report(run, "asleep")
            budget = (2 if more else 32) * MIB
            metrics = run.metrics()
            assert metrics.value("profcol_processes_memory_bytes") <= budget
            assert run.memory_bytes() - at_first <= budget + OTHER_BYTES
            went = counters(run, "processes_evicted", "processes_refused")
            if more:
                assert went["processes_evicted"] > 0
            elif count <= 5000:
                assert not any(went.values())
            cpu = cpu_ms_of(run)
            burner.wait_burnt(2000)
            print("steady:", cpu_ms_of(run) - cpu, "ms in 2 s")
        finally:
            sleepers.kill()
            wait_until(lambda: not has_program(program), "end of the sleepers")
    run.stop()
    assert share_of_whole(run, burner.pid, before) >= LEAST_WHOLE


def test_a_process_that_had_to_go_comes_back(
    start_profcol, start_target, build, build_target, relay, tmp_path
):
    """It is stopped, while more are sampled than there is room for; then it goes on. There is room
    for it though two others have more mappings each than there is room for."""
    listed = tmp_path / "list"
    listed.write_text(f"{relay}\n")
    large = [start_mapped(start_target, build, MAPPINGS, listed) for _ in range(2)]
    run = start(start_profcol, tmp_path, process_memory="1MiB", samples_per_second=997)
    burner, _ = start_burner(start_target, build_target, run)
    burner.process.send_signal(signal.SIGSTOP)
    known = run.metrics().value("profcol_processes_known")
    evicted = run.metrics().value("profcol_processes_evicted_total")
    program = build("sleepers", "-static")
    # Each is sampled: none of them goes before one that was sampled earlier.
    sleepers = start_target(program, 2000, 3, stdout=subprocess.PIPE)
    assert sleepers.process.stdout.readline() == b"asleep\n"
    # More than all that were there before, and those that were not sampled after all.
    wait_until(
        lambda: run.metrics().value("profcol_processes_evicted_total") > evicted + known + 200,
        "older processes to go",
    )
    report(run, "after it was stopped")
    burner.process.send_signal(signal.SIGCONT)
    before = set(profile_paths(run.directory / "profiles"))
    burner.wait_burnt(1500)
    report(run, "after it went on")
    run.stop()
    for target in (*large, sleepers):
        target.kill()
    assert share_of_whole(run, burner.pid, before) >= LEAST_WHOLE
    assert judge(run, burner.pid, BURN_CHAIN)["wrong"] == 0


def has_program(path):
    return any(comm.strip() == path.name.encode() for _, comm in proc_files("comm"))


@pytest.mark.parametrize("count", (1000, pytest.param(5000, marks=pytest.mark.slow)))
@pytest.mark.parametrize("more", BUDGETS)
def test_one_process_maps_many_files(
    count, more, start_profcol, start_target, build, build_target, copies, tmp_path
):
    run = start(start_profcol, tmp_path, **more)
    burner, before = start_burner(start_target, build_target, run)
    target = start_mapped(start_target, build, count, copies(count))
    target.wait_burnt(2500)
    report(run, "files")
    metrics = run.metrics()
    assert metrics.value("profcol_unwind_memory_bytes") <= (2 if more else 32) * MIB
    assert descriptors_of(run) < 2000
    went = counters(
        run, "processes_evicted", "processes_refused", "processes_paths_refused",
        "processes_files_refused", "unwind_processes_refused", "unwind_pages_refused",
        "unwind_ranges_dropped", "unwind_pages_evicted",
    )  # fmt: skip
    if more:
        assert any(went.values())
    elif count <= 1000:
        assert not any(went.values())
    run.stop()
    verdicts = judge(run, target.pid, CHAIN)
    assert not verdicts["wrong"]
    assert verdicts["true"] > 0
    if not more:
        assert verdicts["true"] >= 0.5 * verdicts.total()
    assert share_of_whole(run, burner.pid, before) >= LEAST_WHOLE


@pytest.mark.parametrize("count", (300, pytest.param(5000, marks=pytest.mark.slow)))
@pytest.mark.parametrize("more", BUDGETS)
def test_many_programs_one_after_the_other(
    count, more, start_profcol, start_target, build, build_target, tmp_path
):
    programs = tmp_path / "programs"
    programs.mkdir()
    code = build("exec_chain", "-static", "-fomit-frame-pointer").read_bytes()
    for number in range(count):
        path = programs / f"program_{number}"
        path.write_bytes(code + number.to_bytes(8, "little"))
        path.chmod(0o755)
    run = start(start_profcol, tmp_path, **more, samples_per_second=997)
    burner, before = start_burner(start_target, build_target, run)
    for path in sorted(programs.iterdir()):
        subprocess.run([path, "0", str(LIFE_US), path], check=True)
    report(run, "programs")
    metrics = run.metrics()
    budget = (2 if more else 32) * MIB
    assert metrics.value("profcol_unwind_memory_bytes") <= budget
    assert metrics.value("profcol_processes_memory_bytes") <= budget
    assert descriptors_of(run) < 2000
    shutil.rmtree(programs)
    run.stop()
    assert share_of_whole(run, burner.pid, before) >= LEAST_WHOLE
