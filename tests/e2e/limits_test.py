# SPDX-License-Identifier: Apache-2.0
"""A great many mappings, processes and files: what is bounded is bounded in bytes, what had to go
is counted, and the stacks of who runs are whole all the same.

All of it runs in a PID namespace, so that no other processes take room in the tables.
"""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import pprof_file
from decided import Share, assert_rare
from own_pids import number_of
from profcol_run import pipeline, profile_paths
from waiting import wait_until

RATE = 199
MAPPINGS = 10_000
MIB = 1 << 20
OTHER_BYTES = 24 * MIB  # of batches, names and workers
CUT = Share(fine=0.01, fault=0.06)  # of the stacks of a program that was there before
LIFE_US = 4000
SMALL = {"process_memory": "2MiB", "unwind_memory": "2MiB"}
BUDGETS = (
    pytest.param({}, id="usual"),
    pytest.param(SMALL, id="small", marks=pytest.mark.thorough),
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
    """The kernel gives numbers of processes up to `number`, of the whole machine; then what it
    was."""
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


class Burner:
    """A program whose files are known by now."""

    CAP_MS = 20000  # of CPU time, within which it is decided whether its stacks are whole

    def __init__(self, target, run):
        self.target, self._run = target, run
        self.number = number_of(target.pid)
        target.wait_burnt(300)
        known = len(self._profiles())
        wait_until(lambda: len(self._profiles()) > known + 1, "profiles")
        self.begin()

    def _profiles(self):
        return profile_paths(self._run.directory / "profiles")

    def begin(self):
        """What was sampled until now is not judged."""
        self._read, self._ends = set(self._profiles()), collections.Counter()

    def _rounds(self):
        end_ms = self.target.cpu_ms() + self.CAP_MS
        while self.target.cpu_ms() < end_ms:
            for path in set(self._profiles()) - self._read:
                self._read.add(path)
                for sample in pprof_file.read(path).of_pid(self.number):
                    self._ends[sample.mark or "whole"] += sample.count
            yield self._ends.total() - self._ends["whole"], self._ends.total()
            self.target.wait_burnt(200)

    def assert_whole(self):
        """Its stacks are, those of what has been done to the profiler meanwhile included."""
        try:
            assert_rare(CUT, self._rounds(), "stacks that were cut")
        finally:
            print(dict(self._ends))


def name_of(frame):
    """The library's only code has one name, whether it has been read in time or not."""
    is_relay = "/copies/copy_" in frame.file or frame.file.endswith("/relay.so")
    return "relay" if is_relay else frame.name


def judge(run, pid, chain):
    """How often the stacks of `pid` that end in user code are like `chain`, cut (and why), or
    wrong. Before its first file with a true one, and in it, only what is wrong: until then it was not
    known."""
    verdicts = collections.Counter()
    profiles = map(pprof_file.read, profile_paths(run.directory / "profiles"))
    is_known = False
    for profile in profiles:
        found = judge_profile(profile, pid, chain)
        verdicts.update(found if is_known else {"wrong": found["wrong"]})
        is_known = is_known or found["true"] > 0
    print(dict(verdicts))
    return verdicts


def judge_profile(profile, pid, chain):
    """The same of one file, all of it."""
    verdicts = collections.Counter()
    for sample in profile.of_pid(pid):
        names = tuple(map(name_of, sample.frames))
        if "burn_leaf" not in names:
            continue
        at = names.index("burn_leaf")  # above it, interrupts
        mark = sample.mark
        if not mark:
            mark = "true" if names[at : at + len(chain)] == chain else "wrong"
            if mark == "wrong":
                print(names)
        verdicts[mark] += sample.count
    return verdicts


@pytest.fixture
def start(start_profcol_apart, tmp_path):
    """start(**more): a profiler with these options that writes a file each second."""

    def start_one(**more):
        receiver = {"samples_per_second": RATE} | more
        exporters = {"pprof": {"directory": str(tmp_path / "run/profiles"), "interval": "1s"}}
        configuration = pipeline(receiver=receiver, exporters=exporters)
        return start_profcol_apart(configuration, tmp_path / "run").wait_ready()

    return start_one


@pytest.fixture
def start_burner(start_target_apart, build_target):
    return lambda run: Burner(start_target_apart(build_target("burn")), run)


@pytest.fixture
def start_mapped(start_target_apart, build):
    """start_mapped(count, listed, *prefix): a program with so many mappings of the files listed."""

    def start_one(count, listed, *prefix):
        program = build("many_mappings", "-fno-optimize-sibling-calls")
        return start_target_apart(*prefix, program, count, listed)

    return start_one


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


@pytest.mark.sanitized
@pytest.mark.parametrize("first", ("profcol", "target"))
def test_stacks_go_through_mappings_at_both_ends(first, start, start_mapped, relay, tmp_path):
    listed = tmp_path / "list"
    listed.write_text(f"{relay}\n")
    if first == "profcol":
        run = start()
        target = start_mapped(MAPPINGS, listed)
    else:
        target = start_mapped(MAPPINGS, listed).wait_burnt(100)
        run = start()
    number = number_of(target.pid)
    wait_until(lambda: judge(run, number, CHAIN)["true"], "true stacks of it", step_s=0.5)
    target.wait_burnt(3000)
    report(run, "mappings")
    assert run.metrics().value("profcol_unwind_ranges_dropped_total") == 0
    run.stop()
    verdicts = judge(run, number, CHAIN)
    assert verdicts["true"] >= 300
    assert verdicts["true"] >= 0.8 * verdicts.total()
    assert not verdicts["wrong"]


@pytest.mark.parametrize(
    "count", (5000, pytest.param(50_000, marks=(pytest.mark.slow, pytest.mark.alone)))
)
@pytest.mark.parametrize("more", BUDGETS)
def test_many_processes_that_sleep(
    count, more, start, start_burner, start_target_apart, build
):
    run = start(**more)
    burner = start_burner(run)
    at_first = run.memory_bytes()
    report(run, "before")
    # Beside so few, whatever else runs has numbers enough.
    with highest_pid(2 * count + 65536) if count > 5000 else contextlib.nullcontext():
        sleepers = start_target_apart(build("sleepers", "-static"), count, stdout=subprocess.PIPE)
        assert sleepers.process.stdout.readline() == b"asleep\n"

        def are_taken_in():
            metrics = run.metrics()
            known = metrics.value("profcol_processes_known")
            return known + metrics.value("profcol_processes_evicted_total") > count

        wait_until(are_taken_in, "the sleepers to be known")
        burner.target.wait_burnt(1000)
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
        burner.assert_whole()
        sleepers.kill()
    run.stop()


@pytest.mark.thorough
def test_a_process_that_had_to_go_comes_back(
    start, start_burner, start_mapped, start_target_apart, build, relay, tmp_path
):
    """It is stopped, while more are sampled than there is room for; then it goes on. There is room
    for it though two others have more mappings each than there is room for."""
    listed = tmp_path / "list"
    listed.write_text(f"{relay}\n")
    for _ in range(2):
        start_mapped(MAPPINGS, listed, "nice", "-n", 19)  # not in the way of those that sleep
    run = start(process_memory="1MiB", samples_per_second=997)
    burner = start_burner(run)
    burner.target.process.send_signal(signal.SIGSTOP)
    known = run.metrics().value("profcol_processes_known")
    evicted = run.metrics().value("profcol_processes_evicted_total")
    program = build("sleepers", "-static")
    # Each is sampled: none of them goes before one that was sampled earlier.
    sleepers = start_target_apart(program, 2000, 3, stdout=subprocess.PIPE)
    assert sleepers.process.stdout.readline() == b"asleep\n"
    # More than all that were there before, and those that were not sampled after all.
    wait_until(
        lambda: run.metrics().value("profcol_processes_evicted_total") > evicted + known + 200,
        "older processes to go",
    )
    report(run, "after it was stopped")
    burner.begin()
    burner.target.process.send_signal(signal.SIGCONT)
    burner.assert_whole()
    report(run, "after it went on")
    run.stop()
    assert judge(run, burner.number, BURN_CHAIN)["wrong"] == 0


@pytest.mark.parametrize("count", (1000, pytest.param(5000, marks=pytest.mark.slow)))
@pytest.mark.parametrize("more", BUDGETS)
def test_one_process_maps_many_files(count, more, start, start_burner, start_mapped, copies):
    run = start(**more)
    burner = start_burner(run)
    target = start_mapped(count, copies(count))
    number = number_of(target.pid)
    if not more:
        wait_until(lambda: judge(run, number, CHAIN)["true"], "true stacks of it", step_s=0.5)
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
    burner.assert_whole()
    run.stop()
    verdicts = judge(run, number, CHAIN)
    assert not verdicts["wrong"]
    # There is no room in small tables for the files that come last, through one of which all go.
    if not more:
        assert verdicts["true"] >= 0.5 * verdicts.total()


@pytest.mark.parametrize("count", (300, pytest.param(5000, marks=pytest.mark.slow)))
@pytest.mark.parametrize("more", BUDGETS)
def test_many_programs_one_after_the_other(
    count, more, start, start_burner, start_target_apart, build, tmp_path
):
    programs = tmp_path / "programs"
    programs.mkdir()
    code = build("exec_chain", "-static", "-fomit-frame-pointer").read_bytes()
    for number in range(count):
        path = programs / f"program_{number}"
        path.write_bytes(code + number.to_bytes(8, "little"))
        path.chmod(0o755)
    run = start(**more, samples_per_second=997)
    burner = start_burner(run)
    script = f'for each in "$0"/*; do "$each" 0 {LIFE_US} "$each" || exit; done'
    assert start_target_apart("sh", "-c", script, programs).wait_exit() == 0
    report(run, "programs")
    metrics = run.metrics()
    budget = (2 if more else 32) * MIB
    assert metrics.value("profcol_unwind_memory_bytes") <= budget
    assert metrics.value("profcol_processes_memory_bytes") <= budget
    assert descriptors_of(run) < 2000
    shutil.rmtree(programs)
    burner.assert_whole()
    run.stop()
