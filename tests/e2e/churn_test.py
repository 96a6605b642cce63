# SPDX-License-Identifier: Apache-2.0
"""Programs come and go all the time: every sample is accounted for, and nothing grows.

CHURN_SECONDS=3600 makes an hour of it (`make churn`).
"""
import collections
import os
import pathlib
import statistics
import subprocess
import time

import pytest

from decided import Share, assert_rare
from own_pids import own_pids
from profcol_run import pipeline
from unwind_targets import TARGETS, build

SECONDS = int(os.environ.get("CHURN_SECONDS", "120"))
WARM_S = 600 if SECONDS >= 1800 else SECONDS / 2
PROGRAMS, PER_SECOND = 200, 20
ROUNDS = 120  # of one: some 20 ms, so that each is sampled soon
LOOK_S = 2
SHADOWS = 1000  # far more than run at one time
GROWTH = 1.05
CUT = Share(fine=0.03, fault=0.1)
# Where the machine stands still, the kernel has no room for a moment.
NO_ROOM = Share(fine=0.003, fault=0.02)
# What the memory of a process with some 30 MiB may differ by for no reason of ours.
SLACK_KIB = 1024
OPENED = 8
SLACK_MAPS = 4 << 20  # they are made several at a time

# What make test has of it: limits_test.py, short_lives_test.py.
pytestmark = pytest.mark.thorough


def make_programs(source, directory):
    """Files that do the same, and are told apart by content and build id."""
    target = next(target for target in TARGETS if target.name == "gcc_O0")
    path, _ = build(target, source / "tests/targets", directory)
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True)
    build_id = bytes.fromhex(notes.stdout.split("Build ID:")[1].split()[0])
    content = pathlib.Path(path).read_bytes()
    assert content.count(build_id) == 1
    programs = []
    for number in range(PROGRAMS):
        program = directory / f"program-{number}"
        program.write_bytes(content.replace(build_id, os.urandom(len(build_id))))
        program.chmod(0o755)
        programs.append(program)
    return programs


def own_files():
    """The files that this process maps. A program that is not executed yet is a copy of this process:
    if it is sampled, these files are held for a while.
    """
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if "/" in line}


def descriptors(pid):
    """Yields where the process's descriptors lead, but for maps in the kernel, whose bytes are
    counted.
    """
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            place = os.readlink(link)
        except FileNotFoundError:
            continue
        if place != "anon_inode:bpf-map":
            yield place


def look(pid, directory):
    """Returns (KiB of resident memory, descriptors too many of files that come and go: the programs in
    `directory` and those of own_files(), descriptors of everything else) of the process; its workers
    come and go.
    """
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    rss = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    own, passing, lasting = own_files(), collections.Counter(), 0
    for place in descriptors(pid):
        if place in own or place.startswith(f"{directory}/program-"):
            passing[place] += 1
        else:
            lasting += 1
    return rss, passing.total() - len(passing), lasting


class Churn:
    def __init__(self, programs, shadow, start):
        self._start = start
        self._programs = programs
        self._shadow = shadow
        self._running = []
        self._count = 0

    def step(self):
        program = self._programs[self._count * 7 % len(self._programs)]
        # Two of them would write into each other's.
        shadow = f"{self._shadow}-{self._count % SHADOWS}"
        self._running.append(self._start([program, shadow, str(ROUNDS)]))
        self._count += 1
        self._running = [each for each in self._running if each.poll() is None]

    def end(self):
        for each in self._running:
            assert each.wait(300) == 0


@pytest.fixture(scope="module")
def apart():
    """A PID namespace: whatever else comes and goes on the machine makes nothing grow."""
    with own_pids() as namespace:
        yield namespace


@pytest.fixture(scope="module")
def churned(source, apart, start_profcol_once, tmp_path_factory):
    directory = tmp_path_factory.mktemp("churn")
    programs = make_programs(source, directory)
    kept = {"interval": "5s", "retention": {"max_files": 4}}
    exporters = {"pprof": {"directory": str(directory / "out")} | kept}
    receiver = {"samples_per_second": 99}
    configuration = pipeline(receiver=receiver, exporters=exporters)
    run = apart.within(start_profcol_once)(configuration, prefix=apart.prefix).wait_ready()
    churn, seen = Churn(programs, directory / "shadow", apart.within(subprocess.Popen)), []
    begin = time.monotonic()
    next_look = begin
    while (now := time.monotonic()) < begin + SECONDS:
        churn.step()
        if now >= next_look:
            maps = run.metrics().value("profcol_bpf_map_bytes")
            seen.append((now - begin, *look(run.pid, directory), maps))
            next_look = now + LOOK_S
        time.sleep(max(0, now + 1 / PER_SECOND - time.monotonic()))
    churn.end()
    metrics = run.metrics()
    run.stop()
    return run, metrics, seen


def test_every_sample_is_accounted_for(churned):
    run, _, _ = churned
    balance = run.balance()
    balance.check()
    assert balance.lost_on_the_way == 0, balance
    own = balance.taken - balance.causes.get("idle", 0)
    assert_rare(NO_ROOM, [(balance.lost, own)], "samples that the kernel had no room for")


def test_nothing_grows(churned):
    _, _, seen = churned
    late = [each for each in seen if each[0] >= WARM_S]
    half = len(late) // 2
    assert half >= 5, "a machine too slow to see anything"
    # How many files are held depends on what runs at a time; one descriptor of each is enough, but for
    # the moment in which another one is opened. On a machine that stood still, dozens of programs begin
    # at once, and a single look may see all of theirs: most looks must not.
    too_many = statistics.median(too_many for _, _, too_many, *_ in late)
    assert too_many <= OPENED, "descriptors of programs"
    grown = {1: ("KiB resident", SLACK_KIB), 3: ("descriptors", 8), 4: ("bytes of maps", SLACK_MAPS)}
    for at, (what, slack) in grown.items():
        first = statistics.median(each[at] for each in late[:half])
        last = statistics.median(each[at] for each in late[half:])
        print(f"{what}: {first} then {last}")
        assert last <= GROWTH * first + slack, what


def test_their_stacks_are_whole(churned):
    _, metrics, _ = churned
    ends = {
        end: metrics.value("profcol_unwind_stacks", end=end)
        for end in ("entry", "no_process", "no_page", "no_mapping")
    }
    print(ends)
    total = sum(ends.values())
    assert_rare(CUT, [(total - ends["entry"], total)], "stacks that were cut")
