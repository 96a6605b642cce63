# SPDX-License-Identifier: Apache-2.0
"""cache_directory: what workers said of files is there at the next start, or is asked for again."""
import pathlib
import shutil
import subprocess

import pytest

from profcol_run import pipeline, read_profile
from settling import settled
from waiting import wait_until


BURNT_MS = 1500
CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")
LEAST_WHOLE = 0.95


def code_of(pid):
    """The files that a process has code of."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[5] for line in lines if " r-xp " in line and "/" in line}


class Runs:
    """Runs of the profiler beside one program, the only one that it profiles."""

    def __init__(self, start_profcol, start_target, program, directory):
        self._start_profcol = start_profcol
        self._start_target = start_target
        self._directory = directory
        self._count = 0
        self.program = directory / "program"
        self.cache = directory / "cache"
        shutil.copy(program, self.program)

    def receiver(self):
        """Options of one that profiles the program, and nothing else."""
        return {
            "cache_directory": str(self.cache),
            "samples_per_second": 199,
            "select": {"include": [{"executable": {"values": [str(self.program)]}}]},
        }

    def run(self, arguments=(), **options):
        """One run: its metrics, its log, and the samples of the program."""
        self._count += 1
        out = self._directory / f"out{self._count}"
        receiver = self.receiver()
        target = self._start_target(self.program, *arguments)
        profcol = self._start_profcol(pipeline(out, receiver | options)).wait_ready()
        target.wait_burnt(BURNT_MS)
        # Metrics of the tables are shown once a second, those of the questions at once.
        wait_until(lambda: profcol.metrics().value("profcol_unwind_pages") > 0, "tables of it")
        files = len(code_of(target.pid))
        wait_until(lambda: Run(profcol.metrics()).asked >= files, "a question for each of its files")
        wait_until(lambda: Run(profcol.metrics()).is_answered, "an end to its questions")
        settled(lambda: Run(profcol.metrics()).counts, "its tables")
        run = Run(profcol.metrics())
        profcol.stop()
        target.kill()
        run.log = profcol.records("profiling")
        run.samples = read_profile(out).of_pid(target.pid)
        return run

    def entries(self):
        return sorted(self.cache.iterdir())


class Run:
    def __init__(self, metrics):
        self._metrics = metrics
        self.log = self.samples = None

    def of_cache(self, name):
        return self._metrics.value(f"profcol_unwind_cache_{name}")

    @property
    def worker_requests(self):
        return self._metrics.value("profcol_worker_requests", purpose="unwind")

    @property
    def pages_built(self):
        return self._metrics.value("profcol_unwind_pages_built")

    @property
    def asked(self):
        """Files of which tables were asked for: of the cache, or where there is none of a worker."""
        of_cache = (self.of_cache("hits") or 0) + (self.of_cache("misses") or 0)
        return max(of_cache, self.worker_requests)

    @property
    def is_answered(self):
        """What the cache had no answer to was asked of a worker, and is kept, or cannot be."""
        misses = self.of_cache("misses")
        if misses is None:  # there is no cache
            return True
        return self.worker_requests >= misses <= self.of_cache("written") + self.of_cache("unwritten")

    @property
    def counts(self):
        """Those that grow as long as there is something new of the program."""
        return self.pages_built, self.of_cache("misses"), self.worker_requests

    @property
    def late(self):
        """Stacks that waited for tables as long as stacks may; the machine may have stood still."""
        return self._metrics.value("profcol_unwind_deferred_stacks", result="late") or 0

    def warnings(self):
        return [text for level, text in self.log if level == "warn" and "cache_directory" in text]

    def check_stacks(self, chain=CHAIN):
        """Nearly all lead from one of the program's functions to its entry."""
        whole = total = 0
        for sample in self.samples:
            names = sample.names
            total += sample.count
            at = next((i for i, name in enumerate(names) if name in chain), len(names))
            tail = tuple(name for name in names[at:] if name in chain)
            whole += sample.count * (tail == chain[len(chain) - len(tail) :] and tail != ())
        print(f"{whole} of {total} are whole, {self.late} were late")
        assert total >= 100 and self.late < total / 2
        assert whole >= LEAST_WHOLE * (total - self.late)


@pytest.fixture
def runs(start_profcol, start_target, build_target, tmp_path):
    return Runs(start_profcol, start_target, build_target("burn"), tmp_path)


def test_the_second_start_asks_no_worker(runs):
    first = runs.run()
    assert first.of_cache("hits") == 0
    assert first.worker_requests == first.of_cache("misses") > 0
    assert first.of_cache("written") == first.worker_requests
    assert first.of_cache("bytes") == sum(path.stat().st_blocks * 512 for path in runs.entries())
    first.check_stacks()

    second = runs.run()
    assert second.worker_requests == second.of_cache("misses") == 0
    assert second.of_cache("hits") == first.of_cache("misses")
    assert second.pages_built == first.pages_built > 0
    assert second.of_cache("written") == second.of_cache("damaged") == 0
    assert not second.warnings()
    second.check_stacks()


def test_it_is_off_unless_asked_for(runs):
    run = runs.run(cache_directory="")
    assert run.worker_requests > 0
    assert not runs.cache.exists()


@pytest.mark.thorough
@pytest.mark.sanitized
def test_what_is_damaged_is_made_anew(runs):
    runs.run()
    for path in runs.entries():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    second = runs.run()
    assert second.of_cache("hits") == 0
    assert second.of_cache("damaged") == second.worker_requests == second.of_cache("written") > 0
    second.check_stacks()
    third = runs.run()
    assert third.worker_requests == third.of_cache("damaged") == 0
    third.check_stacks()


def test_another_program_in_its_place_is_another_file(runs, build_target, tmp_path):
    runs.run()
    runs.program.unlink()
    shutil.copy(build_target("shadow_stack"), runs.program)
    second = runs.run(arguments=[tmp_path / "shadow"])
    assert second.of_cache("misses") == second.worker_requests == 1
    assert second.of_cache("hits") > 0  # libc is the same
    names = {name for sample in second.samples for name in sample.names}
    assert "main" in names
    assert not names & set(CHAIN[:-1])


@pytest.mark.thorough
def test_a_copy_of_the_same_build_is_another_file(runs):
    """Whoever writes a file can give it the head, the tail and the build id of another one."""
    runs.run()
    copy = runs.program.with_name("copy")
    shutil.copy(runs.program, copy)
    copy.replace(runs.program)
    second = runs.run()
    assert second.of_cache("misses") == second.worker_requests == 1
    second.check_stacks()
    third = runs.run()
    assert third.of_cache("misses") == third.worker_requests == 0
    third.check_stacks()


@pytest.fixture
def mount(runs):
    """mount(options): a file system of its own where the cache is to be."""
    mounted = []

    def mount_one(options):
        runs.cache.mkdir(mode=0o700, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "profcol", runs.cache]
        subprocess.run(command, check=True)
        mounted.append(runs.cache)

    yield mount_one
    for path in mounted:
        subprocess.run(["umount", path], check=True)


def test_without_a_place_to_write_it_profiles_all_the_same(runs, mount):
    mount("ro")
    run = runs.run()
    (warning,) = run.warnings()
    assert f"'{runs.cache}'" in warning and "Read-only file system" in warning
    assert run.worker_requests > 0
    run.check_stacks()


def test_rules_that_others_could_write_are_not_believed(runs):
    runs.cache.mkdir()
    runs.cache.chmod(0o777)
    run = runs.run()
    (warning,) = run.warnings()
    assert "is writable by others" in warning
    assert not runs.entries()
    run.check_stacks()


@pytest.mark.thorough
def test_a_full_disk_is_told_once(runs, mount):
    mount("size=16k")
    run = runs.run()
    (warning,) = run.warnings()
    assert "No space left on device" in warning
    assert run.of_cache("unwritten") > 0
    run.check_stacks()
    runs.cache.joinpath("more").mkdir(exist_ok=True)  # there is no half file left
    assert pathlib.Path("/proc/mounts").read_text().count(str(runs.cache)) == 1


def test_two_profilers_share_a_directory(runs, start_profcol, tmp_path):
    other = start_profcol(pipeline(tmp_path / "other", runs.receiver())).wait_ready()
    runs.run()
    run = runs.run()
    assert run.worker_requests == 0
    assert run.of_cache("damaged") == 0
    run.check_stacks()
    assert other.metrics().value("profcol_unwind_cache_damaged") == 0
    other.stop()
