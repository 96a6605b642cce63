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

import pytest

from container_cgroup import ContainerCgroup
from proc_files import proc_files
from profcol_run import pipeline, profile_paths, read_profile, with_metrics
from settling import settled
from target_run import Target
from waiting import wait_until

RATE = 199
USER = 54321
CONTAINER = "ab" * 32
POD = "4f3c2b1a-0000-4000-8000-00000000beef"


class UnitCgroup:
    """A cgroup as of a unit that has nothing of a container, with the path `path`; `procs` takes
    processes in."""

    def __init__(self, name):
        name = f"{name}-{os.getpid()}"
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
    cgroup = ContainerCgroup(POD, CONTAINER)
    yield cgroup
    cgroup.remove()


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
def each_way(programs, container, start_target):
    """One rule of each kind, and the name of the program that it is about; all of them run."""
    shell = subprocess.Popen(
        ["sh", "-c", 'echo $$; "$0" & wait', programs("selby_pid")], stdout=subprocess.PIPE, text=True
    )
    shell.stdout.readline()
    container.start(programs("selby_container"))
    with UnitCgroup("select-unit") as unit:
        start_target("sh", "-c", f'echo $$ > {unit.procs}; exec "$0"', programs("selby_cgroup"))
        start_target(programs("selby_path"))
        start_target(programs("selby_pattern"))
        start_target(programs("selby_comm"))
        start_target(programs("selby_uid"), user=USER)
        yield {
            "selby_path": {"executable": {"values": [str(programs("selby_path"))]}},
            "selby_pattern": {"executable": {"regexes": ["/selby_pat+ern$"]}},
            "selby_comm": {"comm": {"values": ["selby_comm"]}},
            "selby_cgroup": {"cgroup": {"values": [unit.path]}},
            "selby_container": {"container_id": {"values": [CONTAINER]}},
            "selby_uid": {"uid": USER},
            "selby_pid": {"pid": shell.pid},
        }
    subprocess.run(["pkill", "-KILL", "-P", str(shell.pid)], check=False)
    shell.kill()
    shell.wait()


def _burning(name):
    """CPU time in ms of the programs called `name`."""
    total = 0
    for _, content in proc_files("stat"):
        if f"({name})".encode() in content:
            total += sum(map(int, content.rpartition(b")")[2].split()[11:13])) * 10
    return total


def _wait_all_burnt(names, milliseconds):
    goals = {name: _burning(name) + milliseconds for name in names}
    wait_until(
        lambda: all(_burning(name) >= goal for name, goal in goals.items()),
        f"{milliseconds} ms of CPU time for each of {', '.join(names)}",
    )


@pytest.mark.sanitized
def test_each_way_to_exclude(start_profcol, burner, each_way, tmp_path):
    select = {"exclude": list(each_way.values())}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    _wait_all_burnt(each_way, 150)
    _burn(300, burner)
    run.stop()
    everything = _bytes(tmp_path / "out")
    assert b"burn_leaf" in everything, "of the one that is not excluded"
    for name in each_way:
        assert name.encode() not in everything, name
    assert run.balance().causes["select"] >= 30
    assert "undecidable" not in run.balance().causes


def test_each_way_to_include(start_profcol, programs, start_target, each_way, tmp_path):
    start_target(programs("not_asked_for"))
    select = {"include": list(each_way.values())}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    _wait_all_burnt([*each_way, "not_asked_for"], 150)
    run.stop()
    everything, profile = _bytes(tmp_path / "out"), read_profile(tmp_path / "out")
    for name in each_way:
        assert _count(profile, name) >= 10, name
    assert b"not_asked_for" not in everything


def test_all_conditions_of_a_rule_hold(start_profcol, programs, start_target, tmp_path):
    start_target(programs("of_root"))
    start_target(programs("of_user"), user=USER)
    pattern = {"regexes": ["^of_"]}
    select = {"include": [{"comm": pattern}], "exclude": [{"comm": pattern, "uid": USER}]}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    _wait_all_burnt(["of_root", "of_user"], 300)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "of_root") >= 10
    assert b"of_user" not in _bytes(tmp_path / "out")


def test_programs_that_start_later(start_profcol, programs, tmp_path):
    """Most of them have ended when their first sample is looked at."""
    kept, hidden = programs("kept_short"), programs("hidden_short")
    select = {"exclude": [{"executable": {"regexes": ["/hidden_short$"]}}]}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    script = "i=0; while [ $i -lt 15 ]; do $0 30; $1 30; i=$((i+1)); done"
    subprocess.run(["sh", "-c", script, kept, hidden], check=False)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "kept_short") >= 15
    assert b"hidden_short" not in _bytes(tmp_path / "out")
    balance = run.balance()
    assert balance.causes["select"] >= 15
    assert balance.lost <= balance.taken // 50, "what has ended is known all the same"


def test_short_programs_of_another_user(start_profcol, programs, tmp_path):
    """A user is known of what has ended, too, and so is a descent."""
    mine, other = programs("mine_short"), programs("other_short")
    loop = 'i=0; while [ $i -lt 15 ]; do "$0" 30; i=$((i+1)); done'
    select = {"include": [{"uid": USER}]}
    run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
    targets = [Target("sh", "-c", loop, mine, user=USER), Target("sh", "-c", loop, other)]
    for target in targets:
        target.wait_exit()
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "mine_short") >= 15
    assert b"other_short" not in _bytes(tmp_path / "out")
    assert run.balance().lost <= run.balance().taken // 50


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
        _wait_all_burnt(["descendant"], 200)
        parent.stdin.close()
        parent.wait()
        _wait_all_burnt(["descendant"], 200)
    finally:
        os.kill(pid, signal.SIGKILL)
    run.stop()
    assert _count(read_profile(tmp_path / "out"), "descendant") >= 40


def test_what_has_ended_is_not_taken_for_one_of_its_parents_cgroup(start_profcol, programs, tmp_path):
    hidden = programs("cgroup_short")
    script = 'i=0; while [ $i -lt 60 ]; do sh -c "echo \\$\\$ > $1; exec $0 3"; i=$((i+1)); done'
    with UnitCgroup("select-short") as unit:
        select = {"exclude": [{"cgroup": {"values": [unit.path]}}]}
        run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
        for _ in range(2):
            subprocess.run(["sh", "-c", script, hidden, unit.procs], check=False)
        run.stop()
    assert b"cgroup_short" not in _bytes(tmp_path / "out")
    causes = run.balance().causes
    assert causes.get("select", 0) + causes.get("undecidable", 0) >= 10


def test_what_was_renamed_while_idle_does_not_leave(start_profcol, tmp_path):
    """Its verdict is old when it runs again: the first samples wait for another."""
    run = start_profcol(
        _configuration(tmp_path / "out", {"exclude": [{"comm": {"values": ["turned_secret"]}}]})
    ).wait_ready()
    subprocess.run([sys.executable, "-c", _RENAMED_WHILE_IDLE], check=True)
    run.stop()
    assert b"turned_secret" not in _bytes(tmp_path / "out")
    assert run.balance().causes["select"] >= 10


# By another thread: between a system call of its own and the sleep it would run with the new name.
_RENAMED_WHILE_IDLE = """
import os, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def rename():
    time.sleep(1)  # so that what was taken before is sent before
    with open(f"/proc/self/task/{os.getpid()}/comm", "w") as file:
        file.write("turned_secret")
burn(0.3)
threading.Thread(target=rename).start()
time.sleep(12)
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
            run = start_profcol(_configuration(tmp_path / "out", select)).wait_ready()
            _burn(500, moved)
            renamed.send_signal(signal.SIGUSR1)
            unit.procs.write_text(str(moved.pid))
            gauge = ("profcol_select_programs", {"verdict": "unselected"})
            wait_until(
                lambda: run.metrics().value(gauge[0], **gauge[1]) >= 2, "both are found out"
            )
            burnt = moved.cpu_ms()
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

    run = start_profcol(only("first_prog")).wait_ready()
    _burn(500, first, second)
    burnt = {target: target.cpu_ms() for target in (first, second)}
    _reload(run, only("second_prog"))
    _burn(1500, first, second)
    run.stop()
    assert "receiver 'profiling' has taken new options over" in run.log
    assert "Stopping 1 components" not in run.log
    profile = read_profile(tmp_path / "out")
    of_first = _count(profile, "first_prog") * 1000 // RATE
    of_second = _count(profile, "second_prog") * 1000 // RATE
    assert 250 <= of_first <= burnt[first] + 500
    assert 1000 <= of_second <= second.cpu_ms() - burnt[second] + 500


def _count_filtered(run):
    return run.metrics().value("profcol_samples", outcome="filtered", cause="select")


def test_rules_come_and_go_by_reload(start_profcol, programs, start_target, tmp_path):
    target = start_target(programs("some_prog"))
    exclude = {"exclude": [{"comm": {"values": ["some_prog"]}}]}
    run = start_profcol(_configuration(tmp_path / "out", None)).wait_ready()
    _burn(300, target)
    _reload(run, _configuration(tmp_path / "out", exclude))
    _burn(1000, target)
    filtered = _count_filtered(run)
    assert filtered >= 100
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
