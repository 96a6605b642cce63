# SPDX-License-Identifier: Apache-2.0
"""Programs whose files change, go, lie in memory or on file systems that do not answer."""
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import time

import pytest

from odd_neighbour import (
    assert_whole,
    ends_of,
    named,
    since_exec,
    user_files,
)
from waiting import wait_until


BURN_MS = 700  # of CPU time, at 199 samples a second
LEAST = 60  # samples of that
TURN_MS = 1000  # of a library in memory: some batches long, so that its names can be read
CHAIN = ("main", "_start")


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """The directory with the programs and libraries of these tests."""
    directory = tmp_path_factory.mktemp("odd_files")

    def compile_one(name, target, *flags):
        command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", *flags]
        file = source / "tests/targets" / f"{target}.c"
        subprocess.run([*command, file, "-o", directory / name], check=True)

    for version in ("old", "new"):
        compile_one(version, "versions", f"-DVERSION={version}")
        library = ("-shared", "-fPIC", "-Wl,-Bsymbolic-functions")
        compile_one(f"{version}.so", "versions", f"-DVERSION={version}", *library)
    compile_one("old_static", "versions", "-DVERSION=old", "-static")
    compile_one("loads_versions", "loads_versions")
    compile_one("silent_file_system", "silent_file_system")
    compile_one("ordinary", "odd_process", "-fomit-frame-pointer")
    return directory


def leaf(version):
    return f"{version}_leaf"


def nameless(samples, path):
    """How many whole ones have no name in any function of the file: their batch could wait no longer."""
    return sum(
        sample.count
        for sample in samples
        if not sample.mark
        and user_files(sample)
        and not any(
            frame.name and frame.file.removesuffix(" (deleted)") == str(path) for frame in sample.frames
        )
    )


def check(samples, path, version):
    """Samples of the program or library at `path`: whole, named by its version and no other."""
    samples = since_exec(samples, path)
    other = {"old": "new", "new": "old"}[version]
    ends = assert_whole(samples, LEAST)
    right = named(samples, leaf(version), f"{version}_root", *CHAIN)
    assert right >= max(0.9 * (ends["whole"] - nameless(samples, path)), LEAST / 3)
    assert not named(samples, leaf(other))
    files = set().union(*map(user_files, samples))
    assert {file.removesuffix(" (deleted)") for file in files} == {str(path)}


def build_ids(samples, function):
    return {
        frame.build_id for sample in samples for frame in sample.frames if frame.name == function
    }


def test_a_program_that_is_replaced_while_it_runs(around, built, tmp_path):
    """As packages are upgraded: the new file takes the old one's name."""
    path = tmp_path / "program"
    shutil.copy(built / "old", path)
    before = around.start(path)  # unknown when the profiler comes, and its name is taken by then
    before.wait_burnt(50)
    shutil.copy(built / "new", tmp_path / "next")
    (tmp_path / "next").rename(path)
    around.profile()
    after = around.start(path).wait_burnt(BURN_MS)
    shutil.copy(built / "old", tmp_path / "next")
    (tmp_path / "next").rename(path)  # and once more, while it is sampled
    last = around.start(path).wait_burnt(BURN_MS)
    around.await_samples()
    samples = around.finish()
    check(samples[before.pid], path, "old")
    check(samples[after.pid], path, "new")
    check(samples[last.pid], path, "old")
    (old,) = build_ids(samples[before.pid], "old_leaf")
    (new,) = build_ids(samples[after.pid], "new_leaf")
    assert old and new and old != new


def write_over(source, path):
    """As cp does: into the same file."""
    with path.open("r+b") as file:
        file.write(source.read_bytes())
        file.truncate()


@pytest.mark.thorough
def test_a_program_that_is_written_over_with_its_size_and_time_kept(neighbourhood, built, tmp_path):
    """As cp -p, or a build with normalized times: one inode, one size, one time of modification."""
    path = tmp_path / "program"
    shutil.copy(built / "old", path)
    os.utime(path, (1700000000, 1700000000))
    first = path.stat()
    before = neighbourhood.start(path).wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    before.kill()
    write_over(built / "new", path)
    os.utime(path, (1700000000, 1700000000))
    second = path.stat()
    assert (first.st_ino, first.st_size, first.st_mtime_ns) == (
        second.st_ino,
        second.st_size,
        second.st_mtime_ns,
    )
    after = neighbourhood.start(path).wait_burnt(BURN_MS)
    neighbourhood.await_samples()
    samples = neighbourhood.finish()
    check(samples[before.pid], path, "old")
    check(samples[after.pid], path, "new")


def test_a_program_that_is_written_over_between_two_runs(neighbourhood, built, tmp_path):
    path = tmp_path / "program"
    shutil.copy(built / "old", path)
    first = neighbourhood.start(path, BURN_MS)
    assert first.wait_exit() == 0
    write_over(built / "new", path)
    second = neighbourhood.start(path, BURN_MS)
    assert second.wait_exit() == 0
    neighbourhood.await_samples(500)
    samples = neighbourhood.finish()
    check(samples[first.pid], path, "old")
    check(samples[second.pid], path, "new")


def test_a_library_that_is_written_over_while_it_is_mapped(neighbourhood, built, tmp_path):
    """From then on the process runs the new code, without having mapped anything."""
    path = tmp_path / "library.so"
    shutil.copy(built / "old.so", path)
    target = neighbourhood.start(built / "loads_versions", "file", path).wait_burnt(2 * BURN_MS)
    with target.paused():
        write_over(built / "new.so", path)
        written_ns = time.time_ns()
    seen_ns = neighbourhood.await_name(target, leaf("new"))
    target.wait_burnt(BURN_MS)
    neighbourhood.await_samples(300)
    neighbourhood.finish()
    before = neighbourhood.of_time(target.pid, 0, written_ns)
    after = neighbourhood.of_time(target.pid, seen_ns)
    print(f"before: {ends_of(before)}, after: {ends_of(after)}")
    assert named(before, leaf("old"), *CHAIN) >= LEAST
    assert not named(before, leaf("new"))
    assert named(after, leaf("new"), *CHAIN) >= LEAST
    assert not named(after, leaf("old"))


@pytest.mark.thorough
def test_a_library_that_is_written_over_among_more_files_than_are_held(around, built, tmp_path):
    """A change shows by the file's descriptor, and there are fewer descriptors than files."""
    around.profile(prefix=("prlimit", "--nofile=256:256"))
    others = []
    for number in range(40):
        others.append(tmp_path / f"other{number}")
        shutil.copy(built / "old_static", others[-1])
    first = [around.start("nice", "-n", "19", path) for path in others[:-4]]
    for other in first:
        around.await_name(other, leaf("old"))
    path = tmp_path / "library.so"
    shutil.copy(built / "old.so", path)
    target = around.start(built / "loads_versions", "file", path).wait_burnt(50)
    last = [around.start("nice", "-n", "19", path) for path in others[-4:]]
    for program in (target, *last):
        around.await_name(program, leaf("old"))
    with target.paused():
        write_over(built / "new.so", path)
    seen_ns = around.await_name(target, leaf("new"))
    target.wait_burnt(BURN_MS)
    around.await_samples(300)
    around.finish()
    after = around.of_time(target.pid, seen_ns)
    assert named(after, leaf("new"), *CHAIN) >= LEAST
    assert not named(after, leaf("old"))


def test_a_program_whose_file_is_gone(around, built, tmp_path):
    path = tmp_path / "program"
    shutil.copy(built / "old", path)
    before = around.start(path).wait_burnt(50)
    path.unlink()
    around.profile()
    shutil.copy(built / "new", path)
    after = around.start(path)
    wait_until(lambda: os.readlink(f"/proc/{after.pid}/exe") == str(path), "its exec")
    path.unlink()
    after.wait_burnt(BURN_MS)
    around.await_samples()
    samples = around.finish()
    check(samples[before.pid], path, "old")
    check(samples[after.pid], path, "new")


def test_a_program_that_was_never_in_a_file_system(neighbourhood, built):
    fd = os.memfd_create("program", 0)
    os.write(fd, (built / "old").read_bytes())
    target = neighbourhood.start(f"/proc/self/fd/{fd}", pass_fds=[fd]).wait_burnt(BURN_MS)
    os.close(fd)
    neighbourhood.await_samples()
    samples = neighbourhood.finish()[target.pid]
    samples = [sample for sample in samples if "old_leaf" in sample.names]
    ends = assert_whole(samples, LEAST)
    assert named(samples, leaf("old"), *CHAIN) >= 0.9 * ends["whole"]
    assert {file.split(" ")[0] for file in set().union(*map(user_files, samples))} == {
        "/memfd:program"
    }


@pytest.mark.thorough
@pytest.mark.sanitized
def test_a_library_in_memory_that_is_written_anew(neighbourhood, built):
    """The same number and no name: only its content tells one from the other."""
    command = [built / "loads_versions", "memory", built / "old.so", built / "new.so", TURN_MS]
    target = neighbourhood.start(*command).wait_burnt(4 * TURN_MS)
    neighbourhood.await_samples(300)
    samples = since_exec(neighbourhood.finish()[target.pid], command[0])
    ids = {version: build_ids(samples, leaf(version)) for version in ("old", "new")}
    leaves = collections.Counter(sample.names[0] if sample.names else None for sample in samples)
    print(ends_of(samples), ids, leaves.most_common(5))
    whole = [sample for sample in samples if not sample.mark]
    for version in ("old", "new"):
        assert named(whole, leaf(version), *CHAIN) >= LEAST
        assert len(ids[version]) == 1
    # Nothing but the time tells which ran when: turns are as long as each other.
    old, new = (named(samples, leaf(version)) for version in ("old", "new"))
    share = old / (old + new)
    print(f"{100 * share:.0f} % of the samples are of the first one")
    assert 0.45 <= share <= 0.62
    # No stack has frames of both, and each function is of its own build.
    assert not named(samples, leaf("old"), "new_root") + named(samples, leaf("new"), "old_root")
    assert not ids["old"] & ids["new"]


@contextlib.contextmanager
def mounted(kind, path, options):
    command = ["mount", *(() if options == "bind" else ("-t", kind)), kind, "-o", options, path]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        pytest.skip(f"cannot mount {kind} here: {result.stderr.strip()}")
    try:
        yield
    finally:
        if os.path.ismount(path):
            subprocess.run(["umount", "-l", path], check=True)


def test_a_program_in_an_overlay(neighbourhood, built, tmp_path):
    """From the layer below, and from the one above once it was written to."""
    names = ("store", "lower", "upper", "work", "merged")
    store, lower, upper, work, merged = (tmp_path / name for name in names)
    store.mkdir()
    with mounted("tmpfs", store, "mode=755"):
        lower, upper, work, merged = (store / name for name in names[1:])
        for directory in (lower, upper, work, merged):
            directory.mkdir()
        shutil.copy(built / "old", lower / "program")
        with mounted("overlay", merged, f"lowerdir={lower},upperdir={upper},workdir={work}"):
            path = merged / "program"
            below = neighbourhood.start(path).wait_burnt(BURN_MS)
            below.kill()
            write_over(built / "new", path)
            assert (upper / "program").exists()
            above = neighbourhood.start(path).wait_burnt(BURN_MS)
            neighbourhood.await_samples(500)
            samples = neighbourhood.finish()
            above.kill()
    check(samples[below.pid], path, "old")
    check(samples[above.pid], path, "new")


def is_unmounted(path):
    result = subprocess.run(["umount", path], capture_output=True, text=True, check=False)
    assert not result.returncode or "busy" in result.stderr, result.stderr
    return not result.returncode


@pytest.mark.parametrize(
    "kind",
    ["bind", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("tmpfs", "chroot"))],
)
def test_a_mount_can_be_unmounted_when_its_program_has_ended(kind, around, built, tmp_path):
    """Neither the profiler nor its workers hold it for longer than some seconds; also when it was the
    root of the program, or lies on the file system of the machine's root.
    """
    place, below = tmp_path / "mount", tmp_path / "below"
    place.mkdir()
    below.mkdir()
    options = (below, place, "bind") if kind == "bind" else ("tmpfs", place, "mode=755")
    with mounted(*options):
        shutil.copy(built / "old_static", place / "program")
        around.profile()
        command = ["chroot", place, "/program"] if kind == "chroot" else [place / "program"]
        target = around.start(*command, BURN_MS)
        assert target.wait_exit() == 0
        wait_until(lambda: around.has_exported(target.pid, leaf("old")), "its names")
        wait_until(lambda: is_unmounted(place), "the end of the mount")
    around.await_samples()
    around.finish()


class SilentMount:
    """A mount whose server stops answering the profiler, of which neighbourhood is, with silence().

    Only this one: another profiler of the whole machine would wait for it as well, and one that
    looks for leaks at its exit for as long as the mount is there.
    """

    def __init__(self, neighbourhood, built, directory, file):
        self.path = directory / "mount"
        self.path.mkdir()
        command = [built / "silent_file_system", self.path, built / file, directory / "run"]
        self._waiting = directory / "waiting"
        with self._waiting.open("wb") as output:
            self.server = neighbourhood.start(*command, stdout=output)
        wait_until(lambda: os.path.ismount(self.path), "the mount")
        self.program = self.path / "program"

    def silence(self):
        self.server.process.send_signal(signal.SIGUSR1)

    def silence_closes(self):
        self.server.process.send_signal(signal.SIGUSR2)

    def has_held_close(self):
        return self._waiting.stat().st_size > 0

    def end(self):
        """Without its server whoever waits for an answer gets an error."""
        self.server.kill()

    def remove(self):
        self.end()
        subprocess.run(["umount", "-l", self.path], check=True)


# To look for leaks all threads are stopped, which one that waits for the mount cannot be.
WITHOUT_LEAKS = ("env", "ASAN_OPTIONS=exitcode=99:detect_leaks=0")


@pytest.fixture
def silent_mount(around, built, tmp_path):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("this kernel has no FUSE; load its module: modprobe fuse")
    mount = SilentMount(around, built, tmp_path, "old")
    yield mount
    mount.remove()


def start_later(around, built, tmp_path):
    """Who comes after one that cannot be read is known as well as any."""
    path = tmp_path / "later"
    shutil.copy(built / "new", path)
    later = around.start(path).wait_burnt(BURN_MS)
    around.await_samples()
    return path, later


@pytest.mark.thorough
def test_a_file_on_a_mount_that_is_dead_already(around, silent_mount, built, tmp_path):
    stuck = around.start(silent_mount.program).wait_burnt(100)
    silent_mount.silence()
    around.profile(WITHOUT_LEAKS)
    stuck.wait_burnt(BURN_MS)
    path, later = start_later(around, built, tmp_path)
    samples = around.finish()
    assert around.metrics.value("profcol_processes_files_unanswered") > 0
    check(samples[later.pid], path, "new")
    ends = ends_of(samples[stuck.pid])
    print(f"stuck: {dict(ends)}")
    # Nobody can read its file: its samples come, by addresses, and say that they are cut.
    assert ends.total() >= LEAST
    assert not ends["whole"]
    assert not named(samples[stuck.pid], leaf("new"))
    assert set().union(*map(user_files, samples[stuck.pid])) <= {str(silent_mount.program)}


def test_a_file_on_a_mount_that_dies_later(around, silent_mount, built, tmp_path):
    around.profile(WITHOUT_LEAKS)
    stuck = around.start(silent_mount.program).wait_burnt(BURN_MS)
    wait_until(lambda: around.has_exported(stuck.pid, leaf("old")), "its names to be read")
    silent_mount.silence()
    stuck.wait_burnt(BURN_MS)
    path, later = start_later(around, built, tmp_path)
    samples = around.finish()
    check(samples[later.pid], path, "new")
    # What was read of it while it could be goes on to serve.
    check(samples[stuck.pid], silent_mount.program, "old")


@pytest.mark.thorough
def test_a_file_that_cannot_be_closed(around, silent_mount, built, tmp_path):
    """It can be read; then whoever closes it waits in a way that no signal ends."""
    around.profile(WITHOUT_LEAKS)
    silent_mount.silence_closes()
    stuck = around.start(silent_mount.program).wait_burnt(BURN_MS)
    wait_until(silent_mount.has_held_close, "a close that hangs")
    around.run.wait_logged("a file system does not answer: programs of user 0")
    path, later = start_later(around, built, tmp_path)
    # One after the other: no file is blamed for another one's.
    shutil.copy(built / "old", tmp_path / "last")
    last = around.start(tmp_path / "last").wait_burnt(BURN_MS)
    around.await_samples()
    silent_mount.end()
    samples = around.finish()
    check(samples[later.pid], path, "new")
    check(samples[last.pid], tmp_path / "last", "old")
    assert ends_of(samples[stuck.pid]).total() >= LEAST
    assert not named(samples[stuck.pid], leaf("new"))
