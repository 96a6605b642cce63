# SPDX-License-Identifier: Apache-2.0
"""The benchmark itself: its meter counts what there is, and an interrupt leaves nothing behind."""
import ctypes
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from proc_files import pids_with
from stolen_time import stolen_ms
from waiting import BOUND_S, wait_until

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.append(str(BENCH))

import due
import process_usage

RATE = 99
ATTEMPTS = 10
MARK = "BENCH_TEST"

# Burns so much CPU time, however long that takes on a busy machine.
_BURN = "import time\nwhile time.process_time() < {}: pass"


@pytest.fixture(scope="session")
def due_counter(program):
    """The meter; a build of profcol does not make it unless asked to."""
    build = program.parent
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is no build directory; give --profcol build/release/profcol")
    command = ["cmake", "--build", build, "--target", "due_counter"]
    with (build / "CMakeCache.txt").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # for those that run other tests beside this
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return build / "tests/bench/meter/due_counter"


def _burn(seconds, interpreter=sys.executable):
    """It has a CPU to itself: how often a timer finds one that has to wait is up to chance. Where
    the kernel has groups of processes, a nice one is ahead of those of its own only.
    """
    ahead = ["chrt", "--fifo", "1"]
    if subprocess.run([*ahead, "true"], stderr=subprocess.DEVNULL).returncode:
        ahead = ["nice", "-n", "-20"]
    return [*ahead, interpreter, "-c", _BURN.format(seconds)]


def _assert_due(counted, used_s, stolen_s):
    """Samples were `counted` in all CPU time that was used, maybe in what was stolen from it."""
    assert 0.85 * RATE * used_s <= counted <= 1.15 * RATE * (used_s + stolen_s)


def _count(due_counter, work):
    """What is due while `work()` is done: what that returns, the samples, and seconds stolen from it.
    It is done again where the machine itself stood still meanwhile: then timers are missing on all
    CPUs, and the kernel takes the time for that of whoever was running.
    """
    for _ in range(ATTEMPTS):
        with due.counting(due_counter, RATE) as meter:
            stolen, before, begin = stolen_ms(), meter.snapshot(), time.monotonic()
            result = work()
            counted = due.difference(before, meter.snapshot())
            timers = RATE * os.cpu_count() * (time.monotonic() - begin)
            stolen = stolen_ms() - stolen
        if sum(counted[kind] for kind in ("idle", "kernel", "user", "other")) >= 0.95 * timers:
            return result, counted, stolen / 1000
    raise AssertionError(f"timers were missing each of {ATTEMPTS} times")


def test_a_second_of_work_is_so_many_samples_due(due_counter):
    def work():
        used = process_usage.Cpu.of(os.getpid())
        # Of its two parts, user and system, up to a tick each is not told.
        subprocess.run(_burn(1.05), check=True)
        return process_usage.Cpu.of(os.getpid()).since(used)["total_s"]

    used, counted, stolen_s = _count(due_counter, work)
    assert 1 < used < 2
    _assert_due(counted["user"], used, stolen_s)


def test_work_of_strangers_is_counted_apart_by_name(due_counter, tmp_path):
    # Where it has no CPU to itself, the samples of one second vary by a tenth.
    done, used_s = tmp_path / "done", 4
    name = f"stranger{os.getpid()}"  # as none of those beside this test
    (tmp_path / name).symlink_to(sys.executable)

    def work():
        done.unlink(missing_ok=True)
        # The shell ends at once, so that init, or who acts for it, is the parent of what it leaves.
        script = '"$@" && touch "$DONE" &'
        burn = _burn(used_s, tmp_path / name)
        environment = os.environ | {"DONE": str(done)}
        subprocess.run(["sh", "-c", script, "sh", *burn], check=True, env=environment)
        wait_until(done.exists, "end of the stranger")

    _, counted, stolen_s = _count(due_counter, work)
    _assert_due(counted["names"][name], used_s, stolen_s)
    assert counted["other"] >= counted["names"][name]


class _Counters:
    """A BPF map that holds two numbers for each CPU."""

    def __init__(self):
        self._library = ctypes.CDLL("libbpf.so.1", use_errno=True)
        self._cpus = self._library.libbpf_num_possible_cpus()
        per_cpu_array = 6  # BPF_MAP_TYPE_PERCPU_ARRAY, linux/bpf.h
        self._fd = self._library.bpf_map_create(per_cpu_array, b"bench_test", 4, 8, 2, None)
        assert self._fd >= 0, os.strerror(ctypes.get_errno())

    def set(self, place, value):
        """To `value` on each CPU; what they are together."""
        key, values = ctypes.c_uint32(place), (ctypes.c_uint64 * self._cpus)(*[value] * self._cpus)
        update = self._library.bpf_map_update_elem
        assert not update(self._fd, ctypes.byref(key), values, ctypes.c_uint64(0))
        return value * self._cpus

    def close(self):
        os.close(self._fd)


def test_what_programs_count_in_the_kernel_is_known(due_counter):
    counters = _Counters()
    try:
        with due.counting(due_counter, RATE) as meter:
            counters.set(1, 5)
            before = meter.snapshot()
            more = counters.set(0, 1000), counters.set(1, 12) - counters.set(1, 5)
            counters.set(1, 12)
            after = meter.snapshot()
    finally:
        counters.close()
    (own,) = {each["id"] for each in after["counters"] if each["name"] == "bench_test"}
    assert own in {each["id"] for each in after["maps"]}
    assert due.counters_between(before, after, {own}) == {"bench_test": list(more)}


def _runs(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name
    except OSError:
        return False


@pytest.fixture
def start_bench(program, due_counter, peer, tmp_path):
    """start_bench(*options): a running bench.py with profcol alone, marked; killed in the end."""
    peer("sink")
    peer("inspect")
    started = []

    def start(*options):
        process = subprocess.Popen(
            ["/usr/bin/python3", BENCH / "bench.py", "--profilers", "profcol", "--runs", "1"]
            + ["--profcol", program, "--due-counter", due_counter, "--out", tmp_path / "run"]
            + list(options),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {MARK: str(tmp_path)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _mounts_and_cgroups():
    """Mounts of kernel file systems, which are what a profiler may mount, and all cgroups."""
    # Where there is debugfs, whoever looks there first has the kernel mount tracefs in it.
    pathlib.Path("/sys/kernel/debug/tracing/events").exists()
    lines = pathlib.Path("/proc/mounts").read_text().splitlines()
    mounts = {line for line in lines if line.split()[2] in ("tracefs", "debugfs", "bpf", "cgroup2")}
    cgroups = {str(path) for path in pathlib.Path("/sys/fs/cgroup").rglob("*") if path.is_dir()}
    return mounts | cgroups


def _wait_in_window(bench, raw, mark):
    """Until the profiler is measured under the load; what BPF objects the run then holds."""
    # The load without a profiler comes first.
    wait_until(raw.exists, "measurement with a profiler", 180)
    wait_until(
        lambda: any(_runs(pid, "storm_spawner") for pid in pids_with(MARK, mark)),
        "load under the profiler",
        120,
    )
    time.sleep(3)  # 2 s to settle, and the first of the twenty
    return process_usage.bpf_objects_held(bench.pid)[0]


@pytest.mark.alone  # whoever else makes cgroups or mounts meanwhile is taken for it
def test_an_interrupt_in_the_window_leaves_nothing(start_bench, due_counter, tmp_path):
    before = _mounts_and_cgroups()
    bench = start_bench("--load", "storm", "--seconds", "20")
    held = _wait_in_window(bench, tmp_path / "run/raw/storm@99-round-1-profcol", tmp_path)
    assert held.programs and held.maps
    bench.send_signal(signal.SIGINT)
    output, _ = bench.communicate(timeout=BOUND_S)
    assert (bench.returncode, "bench: interrupted" in output) == (1, True)
    assert pids_with(MARK, tmp_path) == []
    # Those of other programs may come and go.
    wait_until(lambda: _mounts_and_cgroups() <= before, "end of mounts and cgroups")
    with due.counting(due_counter, RATE) as meter:

        def freed():  # the kernel frees them a moment later
            now = meter.snapshot()
            ids = [{each["id"] for each in now[kind]} for kind in ("programs", "maps")]
            return not held.programs & ids[0] and not held.maps & ids[1]

        wait_until(freed, "end of the BPF programs and maps")
