# SPDX-License-Identifier: Apache-2.0
"""`select` of the profiler: which processes are sampled, while they start, change and are told anew."""
import contextlib
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

import pytest

from container_cgroup import ContainerCgroup
from decided import Share, assert_rare
from own_pids import number_of, own_pids
from profcol_run import pipeline, profile_paths, read_profile, with_metrics
from settling import settled
from stolen_time import stolen_ms
from target_run import children, cpu_ms, wait_executed
from waiting import wait_until

RATE = 199
EXEC_RATE = 2999
USER = 54321
# Of samples of programs that have ended, those that are lost, when there is nothing else to be lost.
LOST = Share(fine=0.004, fault=0.03)


class UnitCgroup:
    """A cgroup as of a unit that has nothing of a container, with the path `path`; `procs` takes
    processes in."""

    def __init__(self, name):
        name = f"{name}-{uuid.uuid4().hex}"
        self.path = f"/{name}"
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                self.folder = pathlib.Path(before.split()[4]) / name / "inner"
        self.procs = self.folder / "cgroup.procs"

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_):
        for pid in self.procs.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (self.folder.parent.parent / "cgroup.procs").write_text(pid)
        wait_until(self._remove, "an empty cgroup")

    def _remove(self):
        try:
            for folder in (self.folder, self.folder.parent):
                folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return False  # somebody is about to end in it
        return True


@pytest.fixture
def programs(build_target):
    """programs(name): a program that burns and is called so, for every user to execute."""
    with tempfile.TemporaryDirectory(prefix="select-") as directory:
        pathlib.Path(directory).chmod(0o755)

        def make(name):
            path = pathlib.Path(directory) / name
            if not path.exists():
                shutil.copy(build_target("burn"), path)
            return path

        yield make


@pytest.fixture
def container():
    """A container that is nobody else's; its id in `identity`."""
    identity = uuid.uuid4().hex * 2
    cgroup = ContainerCgroup(str(uuid.uuid4()), identity)
    cgroup.identity = identity
    yield cgroup
    cgroup.remove()


@pytest.fixture
def alone():
    """A PID namespace: what the profiler decides and counts in it is of this test's programs."""
    with own_pids() as namespace:
        yield namespace


@pytest.fixture
def profile_alone(alone, start_profcol):
    """profile_alone(configuration): a Profcol in `alone`, ready."""

    def start(configuration):
        return alone.within(start_profcol)(configuration, prefix=alone.prefix).wait_ready()

    return start


@pytest.fixture
def start_alone(alone, start_target):
    """start_target() in `alone`."""
    return alone.within(start_target)


def _configuration(directory, select):
    receiver = {"samples_per_second": RATE, "reporter_interval": "300ms"}
    if select is not None:
        receiver["select"] = select
    return pipeline(directory, receiver=receiver)


def _bytes(directory):
    (path,) = profile_paths(directory)
    return gzip.decompress(path.read_bytes())


def _burn(milliseconds, *targets):
    for target in targets:
        target.wait_burnt(milliseconds)


def _count(profile, name):
    """Samples of the program `name`."""
    return sum(
        sample.count
        for sample in profile.samples
        if any((frame.file or "").endswith(f"/{name}") for frame in sample.frames)
    )


@pytest.fixture
def each_way(alone, programs, container, start_alone):
    """By the name of a program the rule that is about it, one of each kind; and the numbers of the
    processes by name. All of them run, where they are to be.
    """
    targets = {name: start_alone(programs(name)) for name in ("selby_path", "selby_pattern", "selby_comm")}
    targets["selby_uid"] = start_alone(programs("selby_uid"), user=USER)
    targets["selby_container"] = alone.within(container.start)(programs("selby_container"))
    shell = start_alone("sh", "-c", '"$0" & wait', programs("selby_pid"))
    with UnitCgroup("select-unit") as unit:
        script = f'echo $$ > {unit.procs}; exec "$0"'
        targets["selby_cgroup"] = start_alone("sh", "-c", script, programs("selby_cgroup"))
        pids = {name: target.pid for name, target in targets.items()}
        (pids["selby_pid"],) = wait_until(lambda: children(shell.pid), "a child of the shell")
        for name, pid in pids.items():
            wait_executed(pid, programs(name))
        rules = {
            "selby_path": {"executable": {"values": [str(programs("selby_path"))]}},
            "selby_pattern": {"executable": {"regexes": ["/selby_pat+ern$"]}},
            "selby_comm": {"comm": {"values": ["selby_comm"]}},
            "selby_cgroup": {"cgroup": {"values": [unit.path]}},
            "selby_container": {"container_id": {"values": [container.identity]}},
            "selby_uid": {"uid": USER},
            "selby_pid": {"pid": number_of(shell.pid)},
        }
        yield rules, pids


def _wait_all_burnt(pids, milliseconds):
    """Until each of the processes has used so much CPU time more."""
    goals = {pid: cpu_ms(pid) + milliseconds for pid in pids}
    wait_until(
        lambda: all(cpu_ms(pid) >= goal for pid, goal in goals.items()),
        f"{milliseconds} ms of CPU time for each of {pids}",
    )


@pytest.mark.sanitized
def test_each_way_to_exclude(program, profile_alone, start_alone, build_target, each_way, tmp_path):
    rules, pids = each_way
    kept = start_alone(build_target("burn"))
    # The profiler's workers come and go: of the cgroup of one that has ended nothing is known.
    itself = {"executable": {"values": [str(program)]}}
    run = profile_alone(_configuration(tmp_path / "out", {"exclude": [*rules.values(), itself]}))
    _wait_all_burnt(pids.values(), 150)
    _burn(300, kept)
    run.stop()
    everything = _bytes(tmp_path / "out")
    assert b"burn_leaf" in everything, "of the one that is not excluded"
    for name in rules:
        assert name.encode() not in everything, name
    assert run.balance().causes["select"] >= 30
    assert "undecidable" not in run.balance().causes


def test_each_way_to_include(profile_alone, programs, start_alone, each_way, tmp_path):
    rules, pids = each_way
    other = start_alone(programs("not_asked_for"))
    run = profile_alone(_configuration(tmp_path / "out", {"include": list(rules.values())}))
    _wait_all_burnt([*pids.values(), other.pid], 150)
    run.stop()
    everything, profile = _bytes(tmp_path / "out"), read_profile(tmp_path / "out")
    for name in rules:
        assert _count(profile, name) >= 10, name
    assert b"not_asked_for" not in everything


def test_all_conditions_of_a_rule_hold(start_profcol, programs, start_target, tmp_path):
    targets = start_target(programs("of_root")), start_target(programs("of_user"), user=USER)
    pattern = {"regexes": ["^of_"]}
    select = {"include": [{"comm": pattern}], "exclude": [{"comm": pattern, "uid": USER}]}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    _burn(300, *targets)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "of_root") >= 10
    assert b"of_user" not in _bytes(tmp_path / "out")


def _assert_hardly_lost(run, start):
    """`start` starts short programs and waits for them, as often as it takes to see that their
    samples are not lost.
    """

    def rounds():
        for _ in range(20):
            start()
            metrics = run.metrics()
            samples = {
                outcome: metrics.value("profcol_samples", kind="receiver", outcome=outcome) or 0
                for outcome in ("taken", "lost")
            }
            # In its namespace the profiler counts others' samples like those of idle CPUs.
            idle = metrics.value("profcol_samples", outcome="filtered", cause="idle") or 0
            yield int(samples["lost"]), int(samples["taken"] - idle)

    assert_rare(LOST, rounds(), "samples of programs that have ended")


def test_programs_that_start_later(profile_alone, programs, start_alone, tmp_path):
    """Most of them have ended when their first sample is looked at."""
    kept, hidden = programs("kept_short"), programs("hidden_short")
    select = {"exclude": [{"executable": {"regexes": ["/hidden_short$"]}}]}
    run = profile_alone(_configuration(tmp_path / "out", select))
    script = "i=0; while [ $i -lt 15 ]; do $0 30; $1 30; i=$((i+1)); done"
    _assert_hardly_lost(run, lambda: start_alone("sh", "-c", script, kept, hidden).wait_exit())
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "kept_short") >= 15
    assert b"hidden_short" not in _bytes(tmp_path / "out")
    assert run.balance().causes["select"] >= 15


def test_an_exec_does_not_tell_of_the_program_that_is_to_run(
    profile_alone, build_target, start_alone, tmp_path
):
    """The kernel gives a thread its new name a moment before the process is another program's."""
    paths = [tmp_path / name for name in ("kept_turn", "hidden_turn")]
    for path in paths:
        shutil.copy(build_target("exec_chain"), path)
    configuration = _configuration(
        tmp_path / "out", {"exclude": [{"executable": {"regexes": ["/hidden_turn$"]}}]}
    )
    configuration["receivers"]["profiling"]["samples_per_second"] = EXEC_RATE
    run = profile_alone(configuration)
    assert start_alone(paths[0], "12000", "0", paths[1]).wait_exit() == 0
    run.stop()
    named = [sample for sample in read_profile(tmp_path / "out").samples if _runs_exec(sample)]
    assert len(named) >= 20, "samples of programs that are about to start"
    assert b"hidden_turn" not in _bytes(tmp_path / "out")


def _runs_exec(sample):
    return any(frame.name == "begin_new_exec" for frame in sample.frames)


def test_short_programs_of_another_user(profile_alone, programs, start_alone, tmp_path):
    """A user is known of what has ended, too, and so is a descent."""
    mine, other = programs("mine_short"), programs("other_short")
    loop = 'i=0; while [ $i -lt 15 ]; do "$0" 30; i=$((i+1)); done'
    run = profile_alone(_configuration(tmp_path / "out", {"include": [{"uid": USER}]}))

    def start():
        shells = [
            start_alone("sh", "-c", loop, mine, user=USER),
            start_alone("sh", "-c", loop, other),
        ]
        for shell in shells:
            shell.wait_exit()

    _assert_hardly_lost(run, start)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "mine_short") >= 15
    assert b"other_short" not in _bytes(tmp_path / "out")


def test_who_comes_from_outside_of_the_namespace_descends_from_nobody(
    profile_alone, programs, start_alone, tmp_path
):
    """As what an engine executes in a container: its parent has no number in there."""
    hidden, kept = start_alone(programs("hidden_prog")), start_alone(programs("kept_prog"))
    select = {"exclude": [{"pid": number_of(hidden.pid)}]}
    run = profile_alone(_configuration(tmp_path / "out", select))
    _burn(300, hidden, kept)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "kept_prog") >= 30
    assert b"hidden_prog" not in _bytes(tmp_path / "out")
    assert "undecidable" not in run.balance().causes


def test_descendants_start_later_and_outlive_their_parent(start_profcol, programs, tmp_path):
    # Its own program: the others end with their parent.
    path = programs("any").with_name("descendant")
    shutil.copy(shutil.which("sha256sum"), path)
    parent = subprocess.Popen(
        ["sh", "-c", 'read line; "$0" /dev/zero & echo $!; read line', path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    select = {"include": [{"pid": parent.pid}]}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    print("go", file=parent.stdin, flush=True)
    pid = int(parent.stdout.readline())
    try:
        _wait_all_burnt([pid], 200)
        parent.stdin.close()
        parent.wait()
        _wait_all_burnt([pid], 200)
    finally:
        os.kill(pid, signal.SIGKILL)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "descendant") >= 40


def test_what_has_ended_is_not_taken_for_one_of_its_parents_cgroup(
    profile_alone, programs, start_alone, tmp_path
):
    hidden = programs("cgroup_short")
    script = 'i=0; while [ $i -lt 60 ]; do sh -c "echo \\$\\$ > $1; exec $0 3"; i=$((i+1)); done'
    with UnitCgroup("select-short") as unit:
        select = {"exclude": [{"cgroup": {"values": [unit.path]}}]}
        run = profile_alone(_configuration(tmp_path / "out", select))
        for _ in range(2):
            start_alone("sh", "-c", script, hidden, unit.procs).wait_exit()
        run.stop()
    assert b"cgroup_short" not in _bytes(tmp_path / "out")
    causes = run.balance().causes
    assert causes.get("select", 0) + causes.get("undecidable", 0) >= 10


def test_what_was_renamed_while_idle_does_not_leave(start_profcol, burner, tmp_path):
    """Its verdict is old when it runs again: the first samples wait for another."""
    run = start_profcol(
        _configuration(tmp_path / "out", {"exclude": [{"comm": {"values": ["turned_secret"]}}]})
    ).wait_ready()
    with subprocess.Popen(
        [sys.executable, "-c", _RENAMED_WHILE_IDLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as renamed:
        assert renamed.stdout.readline() == "idle\n"
        # All that was taken of it has been decided and sent, beside samples of another one.
        batches = _count_batches(run)
        wait_until(lambda: _count_batches(run) >= batches + 3, "batches that follow")
        renamed.communicate("rename\n")
    run.stop()
    assert b"turned_secret" not in _bytes(tmp_path / "out")
    assert run.balance().causes["select"] >= 10


def _count_batches(run):
    return run.metrics().value("profcol_batches", kind="exporter") or 0


# By another thread, while the first one waits: it would run with the new name before it sleeps.
_RENAMED_WHILE_IDLE = """
import os, sys, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def rename():
    sys.stdin.readline()
    with open(f"/proc/self/task/{os.getpid()}/comm", "w") as file:
        file.write("turned_secret")
    time.sleep(11)  # longer than its verdict is believed
    os.write(done, b"x")
wait, done = os.pipe()
burn(0.3)
threading.Thread(target=rename).start()
print("idle", flush=True)
os.read(wait, 1)
burn(0.3)
"""

_RENAMING = """
import ctypes, signal, sys
libc = ctypes.CDLL(None)
signal.signal(signal.SIGUSR1, lambda *_: libc.prctl(15, sys.argv[1].encode(), 0, 0, 0))
print("ready", flush=True)
while True:
    pass
"""


def test_another_name_and_another_cgroup_count_at_the_next_refresh(
    start_profcol, programs, start_target, tmp_path
):
    renamed = subprocess.Popen(
        [sys.executable, "-c", _RENAMING, "turned_secret"], stdout=subprocess.PIPE, text=True
    )
    moved = start_target(programs("moved_prog"))
    try:
        renamed.stdout.readline()
        with UnitCgroup("select-moved") as unit:
            select = {
                "exclude": [
                    {"comm": {"values": ["turned_secret"]}},
                    {"cgroup": {"values": [unit.path]}},
                ]
            }
            stolen = stolen_ms()
            run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
            _burn(500, moved)
            renamed.send_signal(signal.SIGUSR1)
            unit.procs.write_text(str(moved.pid))
            gauge = ("profcol_select_programs", {"verdict": "unselected"})
            wait_until(
                lambda: run.metrics().value(gauge[0], **gauge[1]) >= 2, "both are found out"
            )
            burnt = moved.cpu_ms() + stolen_ms() - stolen
            _burn(1000, moved)
            run.stop()
            profile = read_profile(tmp_path / "out")
            sampled_ms = _count(profile, "moved_prog") * 1000 // RATE
            assert 250 <= sampled_ms <= burnt + 500
            assert burnt + 1000 > sampled_ms + 400
    finally:
        renamed.kill()
        renamed.wait()


def _reload(run, configuration):
    done = "Config reload complete."
    before = run.log.count(done)
    run.configuration.write_text(json.dumps(with_metrics(configuration, run.metrics_port)))
    run.process.send_signal(signal.SIGHUP)
    wait_until(lambda: run.log.count(done) > before, f"a reload:\n{run.log[-2000:]}")


@pytest.mark.sanitized
def test_a_reload_swaps_what_is_included(start_profcol, programs, start_target, tmp_path):
    first, second = start_target(programs("first_prog")), start_target(programs("second_prog"))

    def only(name):
        return _configuration(tmp_path / "out", {"include": [{"comm": {"values": [name]}}]})

    stolen = stolen_ms()
    run = start_profcol(only("first_prog")).wait_ready()
    _burn(500, first, second)
    before = second.cpu_ms()
    _reload(run, only("second_prog"))
    after = first.cpu_ms()  # a reload may take long, of a machine that is busy
    _burn(1500, first, second)
    run.stop()
    most = second.cpu_ms() - before + 500
    stolen = stolen_ms() - stolen
    assert "receiver 'profiling' has taken new options over" in run.log
    assert "Stopping 1 components" not in run.log
    profile = read_profile(tmp_path / "out")
    of_first = _count(profile, "first_prog") * 1000 // RATE
    of_second = _count(profile, "second_prog") * 1000 // RATE
    assert 250 <= of_first <= after + 500 + stolen
    assert 1000 <= of_second <= most + stolen


def _count_filtered(run):
    return run.metrics().value("profcol_samples", outcome="filtered", cause="select")


def test_rules_come_and_go_by_reload(start_profcol, programs, start_target, tmp_path):
    target = start_target(programs("some_prog"))
    exclude = {"exclude": [{"comm": {"values": ["some_prog"]}}]}
    run = start_profcol(_configuration(tmp_path / "out", None)).wait_ready()
    _burn(300, target)
    _reload(run, _configuration(tmp_path / "out", exclude))
    _burn(1000, target)
    # Kernel side's counters are asked once a second.
    wait_until(lambda: (_count_filtered(run) or 0) >= 100, "samples that are dropped")
    filtered = _count_filtered(run)
    _reload(run, _configuration(tmp_path / "out", None))
    # What the counters of the kernel side had, and were not asked for before.
    filtered = max(filtered, settled(lambda: _count_filtered(run), "counts"))
    _burn(300, target)
    run.stop()
    assert run.log.count("receiver 'profiling' has taken new options over") == 2
    assert run.balance().causes["select"] <= filtered
    assert _count(read_profile(tmp_path / "out"), "some_prog") >= 60


def test_another_option_restarts_the_profiler(start_profcol, burner, tmp_path):
    run = start_profcol(_configuration(tmp_path / "out", None)).wait_ready()
    _burn(100, burner)
    configuration = _configuration(tmp_path / "out", {"exclude": [{"uid": USER}]})
    configuration["receivers"]["profiling"]["include_env_vars"] = ["HOME"]
    _reload(run, configuration)
    _burn(100, burner)
    run.stop()
    assert "Stopping 1 components: receiver 'profiling'" in run.log


@pytest.mark.parametrize(
    "rule, place, advice",
    [
        ("comm: {value: [nginx]}", "5:18", "did you mean 'values'?"),
        ("executable: {regexes: ['(']}", "5:34", "regexes"),
        ("container_id: {values: [0123abcd]}", "5:35", "write regexes: ['^0123456789ab']"),
    ],
)
def test_a_faulty_rule_is_named_with_its_place(program, tmp_path, rule, place, advice):
    path = tmp_path / "faulty.yaml"
    path.write_text(
        "receivers:\n"
        "  profiling:\n"
        "    select:\n"
        "      include:\n"
        f"        - {rule}\n"
        "exporters: {debug: {}}\n"
        "service: {pipelines: {profiles: {receivers: [profiling], exporters: [debug]}}}\n"
    )
    command = [program, "validate", "--config", path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode
    text = result.stdout + result.stderr
    assert f"faulty.yaml:{place}: " in text and advice in text, text
