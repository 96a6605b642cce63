# SPDX-License-Identifier: Apache-2.0
"""Functions have names, wherever their program lies and however short it lives."""
import subprocess

import pytest

import pprof_file
from profcol_run import pipeline, profile_paths, read_profile
from waiting import wait_until

CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")


def burn_samples(profile, pid):
    """Samples of the process `pid` that have the chain of tests/targets/burn.c."""
    return [sample for sample in profile.of_pid(pid) if sample.names[: len(CHAIN)] == CHAIN]


def user_samples(profile, pid):
    """Samples of the process `pid` taken in user mode, where the first frame is a file's."""
    return [
        sample
        for sample in profile.of_pid(pid)
        if sample.frames and sample.frames[0].file.startswith("/")
    ]


def is_burning(directory, pid):
    """Whether a file in `directory` has the chain in a sample of `pid`."""
    return any(burn_samples(pprof_file.read(path), pid) for path in profile_paths(directory))


def test_cpp_and_rust_names_are_demangled(start_profcol, start_target, build_target, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    target = start_target(build_target("mangled_names")).wait_burnt(700)
    run.stop()

    samples = read_profile(tmp_path / "out").of_pid(target.pid)
    names = {frame.name: frame.system_name for sample in samples for frame in sample.frames}
    assert names["market::stall::sell"] == "_ZN6market5stall4sell17h0123456789abcdefE"
    assert names["harbor::dock::unload"] == "_RNvNtCs7dsHVH2NXQ8_6harbor4dock6unload"
    (weigh,) = (name for name in names if name and "weigh" in name)
    assert weigh.startswith("shop::basket<long>::weigh")
    assert names[weigh] == "_ZN4shop6basketIlE5weighEl"


def test_names_in_another_mount_namespace(start_profcol, start_target, build_target, tmp_path):
    (tmp_path / "inner").mkdir()
    script = 'mount -t tmpfs none "$1" && cp "$0" "$1/hidden" && exec "$1/hidden"'
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    target = start_target(
        "unshare", "--mount", "sh", "-c", script, build_target("burn"), tmp_path / "inner"
    )
    target.wait_burnt(1000)
    assert not (tmp_path / "inner/hidden").exists(), "the program can be seen from here"
    run.stop()

    samples = burn_samples(read_profile(tmp_path / "out"), target.pid)
    assert sum(sample.count for sample in samples) >= 50
    assert {sample.frames[0].file for sample in samples} == {str(tmp_path / "inner/hidden")}


def test_names_of_a_program_that_ran_before_the_profiler(
    start_profcol, burner, build_target, tmp_path
):
    burner.wait_burnt(100)
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    burner.wait_burnt(1000)
    run.stop()
    samples = burn_samples(read_profile(tmp_path / "out"), burner.pid)
    assert sum(sample.count for sample in samples) >= 50
    assert samples[0].frames[0].file == str(build_target("burn"))


@pytest.mark.sanitized
def test_names_of_a_program_that_ends_before_its_batch(
    start_profcol, start_target, build_target, tmp_path
):
    """Its file was seen before, in another process; when the batch closes, both are gone."""
    copy, out = tmp_path / "short_lived", tmp_path / "out"
    copy.write_bytes(build_target("burn").read_bytes())
    copy.chmod(0o755)
    exporters = {"pprof": {"directory": str(out), "interval": "100ms"}}
    receiver = {"reporter_interval": "3s"}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    first = start_target(copy)
    # Until its functions are known, however long that takes beside others.
    wait_until(lambda: is_burning(out, first.pid), "names of the first program")
    first.kill()
    second = start_target(copy, 500)
    assert second.wait_exit() == 0
    copy.unlink()
    run.stop()

    profiles = [pprof_file.read(path) for path in profile_paths(out)]
    named = sum(sample.count for one in profiles for sample in burn_samples(one, second.pid))
    total = sum(sample.count for one in profiles for sample in user_samples(one, second.pid))
    assert total >= 25
    assert named >= 0.9 * total


@pytest.mark.sanitized
def test_kernel_functions_have_names(start_profcol, start_target, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    target = start_target("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", stderr=subprocess.DEVNULL)
    target.wait_burnt(1000)
    run.stop()

    samples = read_profile(tmp_path / "out").of_pid(target.pid)
    in_kernel = [sample for sample in samples if sample.frames[0].file == "vmlinux"]
    assert sum(sample.count for sample in in_kernel) >= 50
    frames = {frame for sample in in_kernel for frame in sample.frames if frame.file == "vmlinux"}
    names = {frame.name for frame in frames}
    assert {"vfs_read", "do_syscall_64"} <= names
    assert None not in names
    assert "" not in {frame.build_id for frame in frames}
