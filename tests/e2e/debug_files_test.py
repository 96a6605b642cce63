# SPDX-License-Identifier: Apache-2.0
"""Stripped programs: names from debug files, places where there are none, and a line about it."""
import os
import re
import shutil
import subprocess

import pytest

from pprof_file import read
from profcol_run import pipeline, read_profile
from record_test import record

CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")
PLACE = re.compile(r"(\w+)\+0x[0-9a-f]+")
BUILD_ID = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"


@pytest.fixture(scope="module")
def stripped(source, tmp_path_factory):
    """Directory with `burn`, static and stripped, in `bin`, and its debug file `burn.debug` elsewhere;
    `evil.debug` says that it is that of the same build, and calls the functions otherwise.
    """
    directory = tmp_path_factory.mktemp("stripped")
    (directory / "bin").mkdir()

    def run(*command):
        subprocess.run([str(part) for part in command], check=True, cwd=directory)

    flags = ["-O2", "-fno-omit-frame-pointer", "-static", f"-Wl,--build-id=0x{BUILD_ID}"]
    run("gcc", *flags, source / "tests/targets/burn.c", "-o", "burn.full")
    run("objcopy", "--only-keep-debug", "burn.full", "burn.debug")
    run("objcopy", "--redefine-sym", "burn_leaf=evil_leaf", "burn.debug", "evil.debug")
    run("objcopy", "-S", "--add-gnu-debuglink=burn.debug", "burn.full", "bin/burn")
    return directory


@pytest.fixture
def start(start_profcol, tmp_path):
    """start(**receiver): a profcol that looks for debug files in tmp_path/debug."""

    def start_one(**receiver):
        # What is not read by the first batch is by the next ones.
        receiver = {
            "debug_directories": [str(tmp_path / "debug")],
            "reporter_interval": "2s",
            "symbolization_wait": "2s",
        } | receiver
        return start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()

    return start_one


def by_build_id(directory):
    return directory / ".build-id" / BUILD_ID[:2] / f"{BUILD_ID[2:]}.debug"


def put(source, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, path)


def leaves(profile, pid):
    """How many samples of the process have which leaf, of those taken in the program: but for those
    whose batch left before the file was read.
    """
    found = {}
    for sample in profile.of_pid(pid):
        named = sample.frames and sample.names[0] is not None
        if named and sample.frames[0].file.endswith("burn"):
            found[sample.names[0]] = found.get(sample.names[0], 0) + sample.count
    return found


def expect_chain(profile, pid):
    samples = [sample for sample in profile.of_pid(pid) if sample.names[: len(CHAIN)] == CHAIN]
    assert sum(sample.count for sample in samples) >= 30, leaves(profile, pid)


def test_a_debug_file_by_build_id(start, start_target, stripped, tmp_path):
    put(stripped / "burn.debug", by_build_id(tmp_path / "debug"))
    run = start()
    target = start_target(stripped / "bin/burn").wait_burnt(2000)
    run.stop()
    expect_chain(read_profile(tmp_path / "out"), target.pid)


def test_a_debug_file_by_its_name(start, start_target, stripped, tmp_path):
    put(stripped / "bin/burn", tmp_path / "bin/burn")
    put(stripped / "burn.debug", tmp_path / "bin/.debug/burn.debug")
    run = start()
    target = start_target(tmp_path / "bin/burn").wait_burnt(2000)
    run.stop()
    expect_chain(read_profile(tmp_path / "out"), target.pid)


@pytest.mark.thorough
def test_without_one_functions_are_their_place(start, start_target, stripped, tmp_path):
    """The same place in both processes, as each of the functions has one."""
    run = start()
    one = start_target(stripped / "bin/burn").wait_burnt(2000)
    other = start_target(stripped / "bin/burn").wait_burnt(2000)
    run.stop()
    profile = read_profile(tmp_path / "out")
    for target in (one, other):
        (leaf, count), *_ = sorted(leaves(profile, target.pid).items(), key=lambda it: -it[1])
        assert PLACE.fullmatch(leaf), leaf
        assert count >= 30
    chains = {
        sample.names[:3]
        for target in (one, other)
        for sample in profile.of_pid(target.pid)
        if sample.names[:1] == (leaf,)
    }
    (chain,) = {chain for chain in chains if len(set(chain)) == 3}
    assert all(PLACE.fullmatch(name) for name in chain)
    nm = subprocess.run(
        ["nm", stripped / "burn.full"], capture_output=True, text=True, check=True
    ).stdout
    address = {line[19:]: line[:16] for line in nm.splitlines()}
    for name, place in zip(CHAIN, chain):
        assert int(place.partition("+")[2], 16) == int(address[name], 16)


def test_a_debug_file_of_a_root_names_no_files_of_others(start, start_target, stripped, tmp_path):
    """The same program in a root of its own, whose debug file lies, and outside of it."""
    root = tmp_path / "root"
    put(stripped / "evil.debug", by_build_id(root / str(tmp_path / "debug").lstrip("/")))
    put(stripped / "bin/burn", tmp_path / "burn")
    os.link(tmp_path / "burn", root / "burn")
    run = start(reporter_interval="500ms")
    inner = start_target("chroot", root, "/burn").wait_burnt(2500)
    outer = start_target(tmp_path / "burn").wait_burnt(2500)
    inner.kill()
    outer.wait_burnt(500)
    run.stop()
    profile = read_profile(tmp_path / "out")
    # As long as it had the file for itself it was believed.
    assert leaves(profile, inner.pid).get("evil_leaf", 0) >= 30, leaves(profile, inner.pid)
    found = leaves(profile, outer.pid)
    assert "evil_leaf" not in found
    assert sum(count for name, count in found.items() if PLACE.fullmatch(name)) >= 50


def test_a_recording_tells_what_has_no_name(program, stripped, tmp_path):
    path = tmp_path / "out.pb.gz"
    result = record(program, "-o", path, "--", stripped / "bin/burn", "1000")
    assert re.search(
        rf"\d+ % of samples have no name: burn \(stripped, build id {BUILD_ID}\)", result.stderr
    ), result.stderr
    assert read(path).samples
    go = shutil.which("go")
    if go:
        command = [go, "tool", "pprof", "-symbolize=none", "-top", path]
        top = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "File: burn\n" in top.stdout, top.stderr
        assert re.search(r"burn\+0x[0-9a-f]+", top.stdout)


def test_code_made_at_run_time_is_told_by_its_program(start, start_target, stripped, tmp_path):
    """Python makes some; who does not have it is skipped."""
    script = (
        "import ctypes, mmap\n"
        # loop: dec rdi; jnz loop; ret
        "m = mmap.mmap(-1, 4096, flags=0x22, prot=7)\n"
        "m.write(bytes.fromhex('48ffcf75fbc3'))\n"
        "f = ctypes.CFUNCTYPE(None, ctypes.c_ulong)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\n"
        "while True: f(10000000)\n"
    )
    if os.uname().machine != "x86_64":
        pytest.skip("the code is of x86-64")
    run = start()
    target = start_target("/usr/bin/python3", "-c", script).wait_burnt(2500)
    run.stop()
    samples = read_profile(tmp_path / "out").of_pid(target.pid)
    made = sum(s.count for s in samples if re.fullmatch(r"\[JIT python3[.\d]*\]", s.names[0] or ""))
    assert made >= 50
