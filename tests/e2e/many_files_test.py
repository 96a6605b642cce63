# SPDX-License-Identifier: Apache-2.0
"""More files than there is room for, one after the other, as where new programs are built all day:
each is walked by its own tables, the last like the first, and nothing grows."""
import collections
import subprocess
import time

import pytest

from own_pids import number_of, own_pids
from profcol_run import pipeline, read_samples

RATE = 997
MIB = 1 << 20
UNITS = 160  # of `small`: some 4 ms
LAST, LAST_UNITS = 12, 6000  # those of which most is asked
CHAIN = ("burn_leaf", "burn_middle", "burn_root", "run", "_start")
LEAST_WHOLE = 0.9
GROWTH_BYTES = 6 * MIB  # of the last half, batches and all
# Longer than a worker stays that helped another one: spare_limit_ns in receiver/ebpf/worker/pool.c.
REST_S = 11
FILE_BYTES = 2048  # of each file there is more: paths, rows, names
# Files that 3 MiB of process_memory have room for. What has ended stays for some seconds.
ROOM = 1408
USUAL_ROOM = 14_336


@pytest.fixture(scope="module")
def builds(source, tmp_path_factory):
    """Two programs that have other code in the same places."""
    directory = tmp_path_factory.mktemp("small")
    codes = []
    for name, flags in ("plain", []), ("padded", ["-DPADDED"]):
        command = ["gcc", "-std=gnu17", "-O2", "-fomit-frame-pointer", "-fasynchronous-unwind-tables"]
        command += ["-fno-stack-protector", "-static", "-nostdlib", "-Wl,--eh-frame-hdr", *flags]
        subprocess.run([*command, source / "tests/targets/small.c", "-o", directory / name], check=True)
        codes.append((directory / name).read_bytes())
    return codes


@pytest.fixture
def alone():
    """A PID namespace: what others run beside takes no room in the profiler's tables."""
    with own_pids() as namespace:
        yield namespace


class Programs:
    """Files that are told apart by their content, each run once."""

    def __init__(self, builds, directory, alone):
        self._builds = builds
        self._start = alone.within(subprocess.Popen)
        self._directory = directory
        self._directory.mkdir()
        self.paths = collections.defaultdict(set)  # by process number, which several may have had
        self._count = 0

    def run(self, units):
        number = self._count
        self._count += 1
        path = self._directory / f"program_{number}"
        path.write_bytes(self._builds[number % 2] + number.to_bytes(8, "little"))
        path.chmod(0o755)
        process = self._start([path, str(units)])
        number = number_of(process.pid)  # it stays until it is waited for
        assert process.wait() == 0
        self.paths[number].add(str(path))
        return str(path)


def memory_at_rest(run):
    """The smallest of several readings, when what ran has been dealt with: neither how many workers
    there are nor what one is at just now is growth, which all readings have."""
    time.sleep(REST_S)
    readings = []
    for _ in range(20):
        readings.append(run.memory_bytes())
        time.sleep(0.1)
    return min(readings)


def look(run):
    metrics = run.metrics()
    names = (
        "processes_files", "processes_files_open", "processes_files_evicted_total",
        "processes_files_refused_total", "processes_paths_refused_total",
        "processes_memory_bytes", "processes_evicted_total", "unwind_files", "unwind_pages",
        "unwind_memory_bytes", "unwind_memory_used_bytes", "unwind_pages_refused_total",
        "unwind_rules_refused_total", "unwind_files_given_up_total",
    )  # fmt: skip
    seen = {name: int(metrics.value(f"profcol_{name}") or 0) for name in names}
    seen["resident"] = memory_at_rest(run)
    print(seen)
    return seen


def judge(samples, paths, chosen):
    """How the stacks of `chosen` end, or that they are wrong; and no frame of any program may lie
    in the file of another one. `paths`: by process number; of those that several had nothing is
    known to be whole."""
    verdicts = collections.Counter()
    files = set().union(*paths.values())
    for sample in samples:
        pid = sample.labels.get("pid")
        own = paths.get(pid)
        if not own:
            continue
        foreign = {frame.file for frame in sample.frames} & files - own
        assert not foreign, f"{own}: {foreign}"
        names = tuple(sample.names)
        if len(own) > 1 or not own <= chosen or not set(names) & set(CHAIN):
            continue
        at = next(i for i, name in enumerate(names) if name in CHAIN)
        expected = CHAIN[CHAIN.index(names[at]) :]
        mark = sample.mark or ("whole" if names[at:] == expected else "wrong")
        if mark == "wrong":
            print(names)
        verdicts[mark] += sample.count
    print(dict(verdicts))
    return verdicts


@pytest.mark.parametrize(
    "count, memory, room",
    (
        pytest.param(1500, "3MiB", ROOM, id="small", marks=pytest.mark.thorough),
        pytest.param(5000, "32MiB", USUAL_ROOM, id="usual", marks=pytest.mark.slow),
        pytest.param(20_000, "32MiB", USUAL_ROOM, id="beyond", marks=pytest.mark.slow),
    ),
)
def test_files_make_room_for_others(count, memory, room, builds, alone, start_profcol, tmp_path):
    receiver = {"samples_per_second": RATE, "process_memory": memory}
    exporters = {"pprof": {"directory": str(tmp_path / "profiles"), "interval": "1s"}}
    configuration = pipeline(receiver=receiver, exporters=exporters)
    run = alone.within(start_profcol)(configuration, prefix=alone.prefix).wait_ready()
    programs = Programs(builds, tmp_path / "programs", alone)
    for _ in range(count // 2):
        programs.run(UNITS)
    middle = look(run)
    for _ in range(count // 2):
        programs.run(UNITS)
    last = {programs.run(LAST_UNITS) for _ in range(LAST)}
    end = look(run)
    run.stop()

    assert end["processes_files_refused_total"] == 0
    assert end["unwind_files_given_up_total"] == 0
    assert end["processes_files"] <= room
    assert end["unwind_files"] <= 1.5 * room  # it hears of what went once a second
    assert end["processes_memory_bytes"] <= int(memory.removesuffix("MiB")) * MIB
    more = max(0, end["processes_files"] - middle["processes_files"])
    assert end["resident"] - middle["resident"] <= GROWTH_BYTES + more * FILE_BYTES
    assert end["processes_files_evicted_total"] > 0 or count <= room
    verdicts = judge(read_samples(tmp_path / "profiles"), programs.paths, last)
    assert verdicts.total() >= 500
    assert not verdicts["wrong"]
    assert verdicts["whole"] >= LEAST_WHOLE * verdicts.total()
