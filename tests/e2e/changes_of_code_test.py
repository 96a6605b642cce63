# SPDX-License-Identifier: Apache-2.0
"""Programs whose code changes while they run: every frame is of what was there at its time."""
import collections
import itertools
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from held_thread import HeldThread
from profcol_run import pipeline, read_samples
from waiting import wait_until


RATE = 499
NAME = "changing_code"
# Two turns are a cycle. The profiler looks at what is new every 110 to 122 ms, about one and a half
# of them: after a turn of the one kind comes one of the other. Were that two cycles, all looks
# could be at turns of one kind.
TURNS, TURN_MS = 60, 37
PHASES = ("in_first", "in_second")
# Those who give up code: so many mappings, of which few are ever there at once.
LEFT = 30000
LEFT_GROWTH = 1 << 20  # bytes; each of them kept would take 100
LIVES, LIFE_US = 60, 30000
LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")
# A shell in a PID namespace of its own starts each life with the same number. Threads of the
# profiler may take it first.
NUMBER = 20000
LIVE = f"""
tries=0 lives=0
while [ $lives -lt {LIVES} ]; do
	tries=$((tries + 1))
	[ $tries -le {10 * LIVES} ] || exit 3
	echo {NUMBER - 1} >{LAST_PID} || exit 4
	"$1" 0 {LIFE_US} "$1" &
	wait $! || exit 5
	[ $! = {NUMBER} ] || continue
	lives=$((lives + 1))
	set -- "$2" "$1"
done
"""


def compile_target(source, path, *flags):
    command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O2", *flags]
    subprocess.run([*command, source / f"tests/targets/{NAME}.c", "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def changing(source, tmp_path_factory):
    return compile_target(source, tmp_path_factory.mktemp("changing") / NAME)


@pytest.fixture
def libraries(source, tmp_path):
    """Two of one size, which lie at one place."""
    first = compile_target(source, tmp_path / "first.so", "-DLIBRARY", "-shared", "-fPIC")
    shutil.copy(first, tmp_path / "second.so")
    return [first, tmp_path / "second.so"]


@pytest.fixture
def codes(changing, tmp_path):
    """Two files of machine code."""
    paths = [tmp_path / "first.code", tmp_path / "second.code"]
    for path in paths:
        subprocess.run([changing, "write", path], check=True)
    return paths


@pytest.fixture
def profiled(start_profcol, start_target, tmp_path):
    """Runs a command under the profiler; its samples."""

    def run_profiled(*command):
        run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": RATE})).wait_ready()
        target = start_target(*command)
        assert target.wait_exit() == 0
        run.stop()
        for sample in read_samples(tmp_path / "out"):
            if sample.labels.get("pid") == target.pid:
                yield sample

    return run_profiled


def files_by_phase(samples, paths):
    """A counter of (phase, file of `paths`); prints what there was."""
    seen = collections.Counter()
    for sample in samples:
        phase = sample.labels.get("comm")
        for file in {frame.file for frame in sample.frames} & set(map(str, paths)):
            seen[phase, pathlib.Path(file).name] += sample.count
        if phase in PHASES:
            seen[phase] += sample.count
    print({"/".join(key) if isinstance(key, tuple) else key: seen[key] for key in seen})
    return seen


def assert_each_has_its_own(seen, first, second):
    """`first` and `second`: names of files; None where that phase has no file."""
    for phase, own, other in zip(PHASES, (first, second), (second, first)):
        assert seen[phase] >= 100, "too few samples to judge by"
        assert not other or not seen[phase, other]
        # The rest was cut where it was not known yet what lay there.
        assert not own or seen[phase, own] >= 0.1 * seen[phase]


@pytest.mark.sanitized
def test_a_library_is_not_taken_for_the_one_before(changing, libraries, profiled):
    samples = profiled(changing, "libraries", TURNS, TURN_MS, *libraries)
    seen = files_by_phase(samples, libraries)
    assert_each_has_its_own(seen, "first.so", "second.so")


def test_a_library_is_not_taken_for_the_one_before_by_a_profiler_that_is_late(
    changing, libraries, start_profcol, start_target, tmp_path
):
    """Where a machine is busy, the thread that learns what processes map has to wait."""
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": RATE})).wait_ready()
    learning = HeldThread(run.pid, "processes")
    target = start_target(changing, "libraries", TURNS, TURN_MS, *libraries)
    while target.process.poll() is None:
        learning.hold(0.9)
        time.sleep(0.15)
    learning.let_go()
    run.stop()
    samples = read_samples(tmp_path / "out")
    mine = (sample for sample in samples if sample.labels.get("pid") == target.pid)
    seen = files_by_phase(mine, libraries)
    for phase, other in zip(PHASES, ("second.so", "first.so")):
        assert seen[phase] >= 100, "too few samples to judge by"
        assert not seen[phase, other]


@pytest.mark.thorough
def test_a_library_that_stays_for_long_is_known_soon(changing, libraries, profiled):
    samples = profiled(changing, "libraries", 6, 1000, *libraries)
    seen = files_by_phase(samples, libraries)
    for phase, own, other in zip(PHASES, ("first.so", "second.so"), ("second.so", "first.so")):
        assert seen[phase, own] >= 0.8 * seen[phase]
        assert not seen[phase, other]


@pytest.mark.thorough
def test_a_file_is_not_taken_for_the_one_that_it_covers(changing, codes, profiled):
    seen = files_by_phase(profiled(changing, "files", TURNS, TURN_MS, *codes), codes)
    assert_each_has_its_own(seen, "first.code", "second.code")


def test_code_in_memory_is_not_taken_for_the_file_in_its_place(changing, codes, profiled):
    seen = files_by_phase(profiled(changing, "jit", TURNS // 2, TURN_MS * 2, *codes), codes)
    assert_each_has_its_own(seen, None, "second.code")


def test_what_another_process_maps_into_the_same_memory(changing, codes, profiled):
    seen = files_by_phase(profiled(changing, "shared", TURNS, TURN_MS, *codes), codes)
    assert_each_has_its_own(seen, "first.code", "second.code")


@pytest.mark.sanitized
def test_code_that_was_given_up_takes_no_memory(
    changing, start_profcol_apart, start_target_apart, tmp_path
):
    configuration = pipeline(tmp_path / "out", {"samples_per_second": RATE})
    run = start_profcol_apart(configuration).wait_ready()

    def memory():
        return run.metrics().value("profcol_processes_memory_bytes")

    before = wait_until(memory, "the processes to be known")
    target = start_target_apart(changing, "leave", LEFT, stdout=subprocess.PIPE)
    assert target.process.stdout.readline() == b"left\n"
    target.wait_burnt(1000)
    with target.paused():  # its end would free all of it
        wait_until(lambda: memory() - before <= LEFT_GROWTH, "memory of code that was given up")
    target.kill()
    run.stop()


@pytest.fixture
def programs(source, tmp_path):
    """Two that burn CPU alike, in functions of different names."""
    paths = [tmp_path / "burns_first", tmp_path / "burns_second"]
    for path in paths:
        command = ["gcc", "-g", "-O2", f"-Dburn_leaf={path.name}_leaf"]
        subprocess.run([*command, source / "tests/targets/exec_chain.c", "-o", path], check=True)
    return paths


def test_a_number_that_is_used_anew_is_another_process(
    start_profcol_apart, start_target_apart, programs, tmp_path
):
    if not os.access(LAST_PID, os.W_OK):
        pytest.skip(f"{LAST_PID} cannot be written")
    configuration = pipeline(tmp_path / "out", {"samples_per_second": RATE})
    run = start_profcol_apart(configuration).wait_ready()
    assert start_target_apart("sh", "-c", LIVE, "sh", *programs).wait_exit() == 0
    run.stop()
    seen = collections.Counter()
    for sample in read_samples(tmp_path / "out"):
        if sample.labels.get("pid") != NUMBER:
            continue
        for name in {frame.name for frame in sample.frames}:
            seen[sample.labels.get("comm"), name] += sample.count
    for own, other in itertools.permutations([path.name for path in programs]):
        assert seen[own, f"{own}_leaf"] >= 20
        assert not seen[own, f"{other}_leaf"]


def test_a_path_of_another_namespace_is_read_there(start_profcol, programs, tmp_path):
    first, second = programs
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": RATE})).wait_ready()
    # There, the second lies under the first one's name.
    there = f"mount --bind {second} {first} && exec {first} 20 20000 {first}"
    for command in (
        [first, "20", "20000", first],
        ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", there],
    ):
        subprocess.run(command, check=True)
    run.stop()
    leaves = collections.defaultdict(collections.Counter)
    for sample in read_samples(tmp_path / "out"):
        if sample.labels.get("comm") == first.name:
            for name in {frame.name for frame in sample.frames}:
                leaves[sample.labels["pid"]][name] += sample.count
    of_first = [seen for seen in leaves.values() if seen["burns_first_leaf"]]
    of_second = [seen for seen in leaves.values() if seen["burns_second_leaf"]]
    assert sum(seen["burns_first_leaf"] for seen in of_first) >= 50
    assert sum(seen["burns_second_leaf"] for seen in of_second) >= 50
    assert not any(seen["burns_second_leaf"] for seen in of_first)
