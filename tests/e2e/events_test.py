# SPDX-License-Identifier: Apache-2.0
"""Events other than the timer: time that threads wait, and page faults, beside what the programs
know of themselves."""
import collections
import os
import pathlib
import re
import subprocess
import uuid

import pprof_file
import pytest

from profcol_run import pipeline, read_profile
from record_test import record
from stolen_time import stolen_ms
from waiting import wait_until

# Of each function of tests/targets/waits.c: the reasons that its waits may have. A thread that is
# not let run in between, or that gives its CPU to the thread it wakes, could go on.
_REASONS = {
    "wait_sleep": {"sleep"},
    "wait_pipe": {"pipe"},
    "wait_feed": {"sleep"},
    "wait_condition": {"futex"},
    "wait_poll": {"poll"},
    "wait_turn": {"runnable"},
}


def _record_all(*arguments):
    """A recording that has lost nothing: a machine that gives profcol no time at all loses some, and
    says so; then there is nothing to judge."""
    for _ in range(8):
        result = record(*arguments)
        assert result.returncode == 0, result.stderr
        if re.search(r"\b0 lost", result.stderr):
            return result
    pytest.fail(f"samples were lost every time: {result.stderr}")


def _is_named(profile, target):
    """Has each leaf in the file `target` a name? A batch waits a second at most for names, in which a
    machine may stand still.
    """
    leaves = [sample.frames[0] for sample in profile.samples if sample.frames]
    return all(leaf.name for leaf in leaves if leaf.file == str(target))


def _record_growth(program, path, target, *arguments, before=()):
    """The profile of the memory that `target` takes, in which every step is, by name. Where there are
    more than may be kept in a second, others' among them, a share of them stands for all: then it is
    recorded again.
    """
    command = (*before, target, *arguments)
    arguments = ("-o", path, "--event", "memory-growth", "--frequency", 10000, "--", *command)
    for _ in range(30):
        _record_all(program, *arguments)
        profile = pprof_file.read(path)
        assert profile.sample_types == (("memory_growth", "bytes"),)
        # What stands for others counts for more than itself, and for no whole pages.
        is_exact = not any(one.count % os.sysconf("SC_PAGE_SIZE") for one in profile.samples)
        if is_exact and _is_named(profile, target):
            return profile
    pytest.fail("the machine's other programs took memory too often, or names came late, every time")


def _column(profile, name):
    return [kind for kind, _ in profile.sample_types].index(name)


def _true_waits(text):
    """Nanoseconds by function, and as "FUNCTION.squares" the sum of their squares in square us."""
    waits = collections.Counter()
    for name, value in map(str.split, text.splitlines()):
        waits[name] += int(value)
    return waits


def _function(sample):
    return next((name for name in sample.names if name in _REASONS), None)


def _sums(profile, column):
    """Nanoseconds by function and reason."""
    sums = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        if _function(sample):
            sums[_function(sample)][sample.labels["profcol.wait.reason"]] += sample.values[column]
    return sums


def _unknown(profile):
    """Nanoseconds of stacks of which nobody can tell where they were: on a busy machine a program is
    known late. Any of the functions may lack them."""
    return sum(
        sample.values[0]
        for sample in profile.samples
        if not _function(sample) and not {"run", "__libc_start_main"} & set(sample.names)
    )


@pytest.fixture(scope="module")
def waits(program, build_target, tmp_path_factory):
    """What a recording says of waits, and what the program says itself."""
    path = tmp_path_factory.mktemp("waits") / "out.pb.gz"
    arguments = ("-o", path, "--event", "off-cpu", "--frequency", 10000, "--", build_target("waits"), 5)
    for _ in range(8):
        before_ms = stolen_ms()
        result = _record_all(program, *arguments)
        # A thread that a hypervisor keeps from its CPU does not wait, and its clock stands.
        stolen_ns = (stolen_ms() - before_ms) * 1_000_000
        profile, true = pprof_file.read(path), _true_waits(result.stdout)
        # Where the machine stood still, threads wake before their stacks are read.
        if _unknown(profile) < 0.5 * true["run"]:
            return profile, true, stolen_ns
    pytest.fail("of most waits nobody can tell where they were, each time")


def test_waits_are_as_long_as_the_program_knows(waits):
    profile, true, stolen_ns = waits
    assert profile.sample_types == (("off_cpu", "nanoseconds"),)
    sums, unknown = _sums(profile, 0), _unknown(profile)
    for function in _REASONS:
        least, most = 0.97 * true[function] - unknown - stolen_ns, 1.03 * true[function]
        assert least <= sums[function].total() <= most, (function, true[function], unknown)


def test_waits_have_their_reason(waits):
    profile, *_ = waits
    for function, reasons in _sums(profile, 0).items():
        named = sum(reasons[reason] for reason in _REASONS[function] | {"runnable"})
        assert named == reasons.total(), (function, reasons)
        if function != "wait_turn":
            # On a busy machine a thread that has woken waits for its turn as part of that wait.
            assert all(reasons[reason] for reason in _REASONS[function])


def test_waits_have_the_stack_that_they_began_with(waits):
    profile, *_ = waits
    sleeps = [sample for sample in profile.samples if "wait_sleep" in sample.names]
    assert any(sample.frames[0].file == "[kernel.kallsyms]" or sample.names[0] for sample in sleeps)
    for sample in sleeps:
        at = sample.names.index("wait_sleep")
        assert "run" in sample.names[at:], sample.names


def test_who_has_ended_a_wait_is_told(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    # A wait that a batch's end meets after 0.1 s is told in parts, of which the first has no waker.
    for _ in range(5):
        waits, waker = _record_ended_waits(program, build_target("wakes"), path)
        # Not each one was a wait for the other thread: that of the mutex may be, or nobody was late.
        if all(waits[of][waker] > 0.95 * waits[of].total() for of in ("wait_pipe", "wait_condition")):
            break
    else:
        pytest.fail(f"{waits}")
    # A timer ends it, whatever thread runs then.
    assert waits["wait_sleep"][None, None] > 0.99 * waits["wait_sleep"].total(), waits["wait_sleep"]


def _record_ended_waits(program, target, path):
    """({function: nanoseconds by name and id of who ended the wait}, name and id of the waker)."""
    result = _record_all(
        program,
        *("-o", path, "--event", "off-cpu", "--frequency", 10000),
        *("--set", "receivers.profiling.off_cpu.wakers=true", "--", target),
    )
    (tid,) = re.findall(r"waker (\d+)", result.stdout)
    waits = collections.defaultdict(collections.Counter)
    for sample in pprof_file.read(path).samples:
        for function in {"wait_pipe", "wait_condition", "wait_sleep"} & set(sample.names):
            if sample.labels["profcol.wait.reason"] in _REASONS[function]:
                key = [sample.labels.get(f"profcol.waker.{of}") for of in ("thread.name", "thread.id")]
                assert sample.labels.get("profcol.waker.process.pid") in (sample.labels["pid"], None)
                waits[function][tuple(key)] += sample.count
    return waits, ("waker", int(tid))


def test_who_ends_a_wait_is_sampled_where_it_does(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    # A hundred waits of 5 ms each and more, but for those of before the program was known.
    wanted = (("pipe", "wake_pipe"), ("futex", "wake_condition"))
    for _ in range(5):
        ended = _record_wakers(program, build_target("wakes"), path)
        if all(ended[key] > 0.9 * 100 * 5_000_000 for key in wanted):
            break
    else:
        pytest.fail(f"{ended}")
    # Nobody but the timer ends a sleep.
    assert not any(reason == "sleep" for reason, *_ in ended), ended


def _record_wakers(program, target, path):
    """Nanoseconds by reason and functions of who ended a wait."""
    result = _record_all(
        program, "-o", path, "--event", "wakers", "--frequency", 10000, "--", target
    )
    (tid,) = re.findall(r"woken (\d+)", result.stdout)
    profile = pprof_file.read(path)
    assert profile.sample_types == (("wakers", "nanoseconds"),)
    ended = collections.Counter()
    for sample in profile.samples:
        if sample.labels.get("profcol.woken.thread.id") == int(tid):
            functions = {"wake_pipe", "wake_condition"} & set(sample.names)
            ended[sample.labels["profcol.wait.reason"], *functions] += sample.count
            assert sample.labels["profcol.woken.thread.name"] in ("woken", "wakes")
            assert sample.labels["profcol.woken.process.pid"] == sample.labels["pid"]
    return ended


_CGROUPS = pathlib.Path("/sys/fs/cgroup")


@pytest.fixture
def small_quota():
    """A cgroup whose threads have 5 ms of a CPU in each 100 ms."""
    name = f"profcol-quota-{uuid.uuid4().hex[:8]}"  # nobody else's
    controllers = _CGROUPS / "cgroup.controllers"
    if controllers.exists() and "cpu" in controllers.read_text().split():
        (_CGROUPS / "cgroup.subtree_control").write_text("+cpu")
        cgroup, key, value = _CGROUPS / name, "cpu.max", "5000 100000"
    elif (_CGROUPS / "cpu/cpu.cfs_quota_us").exists():
        cgroup, key, value = _CGROUPS / "cpu" / name, "cpu.cfs_quota_us", "5000"
    else:
        pytest.skip("no cgroup limits CPU time here")
    cgroup.mkdir()
    (cgroup / key).write_text(value)
    yield cgroup
    wait_until(lambda: not (cgroup / "cgroup.procs").read_text(), f"the end of what runs in {cgroup}")
    cgroup.rmdir()


def _throttled_ns(cgroup):
    text = (cgroup / "cpu.stat").read_text()
    found = re.search(r"throttled_(usec|time) (\d+)", text)
    return int(found[2]) * (1000 if found[1] == "usec" else 1)


def test_a_quota_that_is_used_up_is_told_from_waiting_for_a_cpu(
    program, build_target, small_quota, tmp_path
):
    path = tmp_path / "out.pb.gz"
    script = 'echo $$ >"$0/cgroup.procs"; "$1" & sleep 3; kill $!; wait $!; exit 0'
    _record_all(
        program, "-o", path, "--event", "off-cpu", "--frequency", 10000,
        *("--", "sh", "-c", script, small_quota, build_target("burn")),
    )
    waits = collections.Counter()
    for sample in pprof_file.read(path).samples:
        # The shell's too, which have part in the kernel's.
        waits[sample.labels["profcol.wait.reason"]] += sample.count
    # The kernel counts until there is quota again, the thread until there is a CPU, too.
    true = _throttled_ns(small_quota)
    assert true, "the quota was not used up"
    assert waits["throttled"] > 0.9 * true, (waits, true)


def test_time_on_and_off_cpus_is_that_of_the_wall_clock(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    before_ms = stolen_ms()
    result = _record_all(program, "-o", path, "--event", "wall", "--", build_target("waits"), 5)
    stolen_ns = (stolen_ms() - before_ms) * 1_000_000  # no ticks come then
    profile = pprof_file.read(path)
    assert profile.sample_types == (("wall", "nanoseconds"),)
    threads = collections.Counter()
    for sample in profile.samples:
        # Not by names, which a busy machine reads too late of some.
        if sample.labels["tid"] != sample.labels["pid"]:
            threads[sample.labels["tid"]] += sample.values[0]
    assert len(threads) == 7
    # Waits are kept by lot and running is told by ticks: of one thread both are too few for a close
    # verdict, of all together they are not.
    true = _true_waits(result.stdout)["run"]
    assert 0.85 * true - stolen_ns <= sum(threads.values()) <= 1.15 * true
    mean = true / len(threads)
    for total in threads.values():
        assert 0.5 * mean - stolen_ns <= total <= 1.5 * mean
    reasons = {sample.labels["profcol.wait.reason"] for sample in profile.samples}
    assert {"running", "runnable", "sleep", "futex", "poll", "pipe"} <= reasons


def test_page_faults_are_as_many_as_the_kernel_counts(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    for _ in range(5):
        result = record(
            program, *("-o", path, "--event", "page-faults", "--frequency", 10000),
            *("--", build_target("page_faults"), 2000),
        )
        assert result.returncode == 0, result.stderr
        profile = pprof_file.read(path)
        assert profile.sample_types == (("page_faults", "count"),)
        # A machine that gives profcol no time loses some, and says so.
        lost = int(re.search(r"(\d+) lost", result.stderr)[1])
        # Where new processes have more than may be kept in a second, some stand for all of them: then
        # the sum is an estimate, and it is recorded again.
        touched = sum(sample.count for sample in profile.samples if "touch" in sample.names)
        if touched + lost >= 2000 and touched <= 1.01 * 2000:
            break
    else:
        pytest.fail(f"{touched} of 2000 faults, {lost} samples lost")
    # The kernel's count begins with main(), the profile before.
    assert profile.count + lost >= int(result.stdout)


def test_memory_growth_is_what_a_program_takes(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    cpu = min(os.sched_getaffinity(0))
    before = ("taskset", "-c", cpu)
    profile = _record_growth(program, path, build_target("memory_growth"), before=before)
    # The kernel's, in bytes, of one CPU at most: before 6.2 and since.
    step = max(64, 2 * os.cpu_count()) * os.sysconf("SC_PAGE_SIZE")
    grown = collections.Counter()
    for sample in profile.samples:
        # A fault leaves no functions of the kernel: the leaf is who took the memory.
        grown[sample.names[0]] += sample.count
    for function, mebibytes in {"grow_small": 64, "grow_huge": 64, "grow_again": 128}.items():
        assert grown[function] == pytest.approx(mebibytes << 20, rel=0.03, abs=2 * step), grown


@pytest.mark.parametrize("by, mebibytes", [("threads", 256), ("vfork", 128)])
def test_memory_that_several_take_counts_once(program, build_target, tmp_path, by, mebibytes):
    path = tmp_path / "out.pb.gz"
    profile = _record_growth(program, path, build_target("shared_growth"), by)
    grown = sum(sample.count for sample in profile.samples if "grow" in sample.names)
    step = max(64, 2 * os.cpu_count()) * os.sysconf("SC_PAGE_SIZE")
    assert grown == pytest.approx(mebibytes << 20, rel=0.01, abs=os.cpu_count() * step)


def test_few_samples_of_memory_growth_have_the_same_sum(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    target = build_target("memory_growth")
    for _ in range(5):
        result = _record_all(
            program, "-o", path, "--event", "memory-growth", "--frequency", 3000, "--", target
        )
        profile = pprof_file.read(path)
        if _is_named(profile, target):
            break
    taken = sum(sample.count for sample in profile.samples if "main" in sample.names)
    # Some 450 samples and more, kept or not: six standard errors are 28 %.
    assert taken == pytest.approx(256 << 20, rel=0.3), result.stderr


def test_several_events_are_columns_of_one_file(start_profcol, burner, tmp_path):
    directory = tmp_path / "out"
    receiver = {"samples_per_second": 99, "events": ["cpu", "off_cpu", "page_faults"]}
    run = start_profcol(pipeline(directory, receiver=receiver)).wait_ready()
    burner.wait_burnt(500)
    run.stop()
    profile = read_profile(directory)
    names = [kind for kind, _ in profile.sample_types]
    assert names[:1] == ["samples"] and set(names) == {"samples", "off_cpu", "page_faults", "cpu"}
    on_cpu = _column(profile, "samples")
    assert sum(sample.values[on_cpu] for sample in profile.of_pid(burner.pid))


def test_the_reference_s_threshold_is_the_share_of_waits(program, build_target, tmp_path):
    path = tmp_path / "out.pb.gz"
    result = _record_all(
        program,
        *("-o", path, "--event", "off-cpu", "--set", "receivers.profiling.off_cpu_threshold=0.5"),
        *("--", build_target("waits"), 5),
    )
    profile, true = pprof_file.read(path), _true_waits(result.stdout)
    sums, unknown = _sums(profile, 0), _unknown(profile)
    # Each is kept or not, and counts twice if it is. Of a thousand equal ones a standard error is
    # 3 %; on a busy machine there are fewer, and some are long.
    for function in ("wait_sleep", "wait_feed", "wait_condition", "wait_poll"):
        error_ns = 1000 * true[f"{function}.squares"] ** 0.5
        more = sums[function].total() - true[function]
        assert -6 * error_ns - unknown < more < 6 * error_ns, (function, true[function], unknown)


@pytest.mark.parametrize(
    "events, words",
    [
        (["cpu", "naps"], "'naps' is none; write cpu, off_cpu, page_faults, memory_growth, wakers or wall"),
        (["wall", "cpu"], "'wall' has all that 'cpu' and 'off_cpu' have"),
    ],
)
def test_events_that_do_not_exist_are_refused(program, tmp_path, events, words):
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "receivers: {profiling: {events: [%s]}}\n"
        "exporters: {debug: }\n"
        "service: {pipelines: {profiles: {receivers: [profiling], exporters: [debug]}}}\n"
        % ", ".join(events)
    )
    result = subprocess.run(
        [program, "validate", "--config", path], capture_output=True, text=True, check=False
    )
    assert result.returncode == 78
    assert words in result.stderr


def test_an_event_that_does_not_exist_is_a_wrong_usage(program, tmp_path):
    result = record(program, "-o", tmp_path / "out.pb.gz", "--event", "naps", "--", "true")
    assert result.returncode == 2
    assert "takes cpu, off-cpu, wall, wakers, page-faults or memory-growth" in result.stderr
