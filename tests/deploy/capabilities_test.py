# SPDX-License-Identifier: Apache-2.0
"""What is lost without each capability, by taking one at a time away; docs/security.md has the
table.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from profcol_run import READY, pipeline, read_samples
from waiting import wait_until

NEEDED = ("bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore", "syslog")
OTHER_USER = 12345
ROW = re.compile(r"^\| `([A-Z_]+)` \|.*\| ([\w', ]+) \|$", re.MULTILINE)

# Runs the program where only its own mount namespace has it.
_INNER = 'mount -t tmpfs none "$1" && cp "$0" "$1/inner" && exec "$1/inner"'


def only(*capabilities):
    """A command prefix: root, with these capabilities alone, and no way to more."""
    script = pathlib.Path(__file__).with_name("container.py")
    return ["/usr/bin/python3", script, "--capabilities", ",".join(capabilities), "--"]


@pytest.fixture(scope="module")
def targets(burn, start_target, tmp_path_factory):
    """Running programs by what it takes to learn about them."""
    directory = tmp_path_factory.mktemp("programs")
    directory.chmod(0o755)
    for above in directory.parents:  # of other users, too, who start what lies below
        if above.stat().st_uid == os.geteuid() and not above.stat().st_mode & 1:
            above.chmod(above.stat().st_mode | 0o111)
    plain, private, library = directory / "plain", directory / "private", directory / "libburn.so"
    inner = tmp_path_factory.mktemp("inner")
    shutil.copy(burn, plain)
    shutil.copy(burn, private)
    os.chown(private, OTHER_USER, OTHER_USER)
    private.chmod(0o700)
    source = pathlib.Path(__file__).parents[1] / "targets/burn.c"
    flags = ["-g", "-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
    shared = ["-fPIC", "-shared", "-Dmain=burn_main", source, "-o", library]
    subprocess.run(["gcc", *flags, *shared], check=True)
    caller = directory / "caller.c"
    caller.write_text("int burn_main(int, char **);\nint main(void) { return burn_main(1, 0); }\n")
    link = [caller, library, f"-Wl,-rpath,{directory}", "-o", directory / "caller"]
    subprocess.run(["gcc", *flags, *link], check=True)
    started = {
        "ordinary programs": start_target(plain),
        "containers": start_target("unshare", "--mount", "sh", "-c", _INNER, plain, inner),
        "unreadable files": start_target(private, user=OTHER_USER, group=OTHER_USER),
        "deleted files": start_target(directory / "caller"),
        "the kernel": start_target(
            "/usr/bin/python3", "-c", "import os\nwhile True: os.stat('/proc/self/status')"
        ),
    }
    started["deleted files"].wait_burnt(50)
    library.unlink()
    return started


def named(samples, target, kernel=False):
    """Do its samples have names?"""
    own = [sample for sample in samples if sample.labels.get("pid") == target.pid]
    stacks = [sample for sample in own if sample.frames]
    if kernel:
        return any(
            frame.name and frame.file == "vmlinux" for sample in stacks for frame in sample.frames
        )
    return any("burn_leaf" in sample.names for sample in stacks)


def starts(run):
    """Does it begin to profile, or give up?"""
    wait_until(lambda: READY in run.log or not run.is_running(), "a start, or its failure")
    return run.is_running()


def lost_with(directory, targets):
    """What a run that ended has not learned."""
    samples = [*read_samples(directory)]
    return {
        what
        for what, target in targets.items()
        if not named(samples, target, kernel=what == "the kernel")
    }


@pytest.fixture(scope="module")
def losses(start_profcol, targets, tmp_path_factory):
    """What is lost, by the capability that is missing; of None, with all that are needed. All of
    them profile the same time. Of one that does not start 'everything' is lost.
    """
    result, running = {}, {}
    for missing in (None, *NEEDED):
        directory = tmp_path_factory.mktemp("profiles")
        held = [name for name in NEEDED if name != missing]
        running[missing] = start_profcol(pipeline(directory), prefix=only(*held)), directory
    for missing in [missing for missing, (run, _) in running.items() if not starts(run)]:
        result[missing] = {"everything"}
        del running[missing]
    for target in targets.values():
        target.wait_burnt(300)
    for target in targets.values():
        target.process.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(len(running)) as pool:
        list(pool.map(lambda pair: pair[0].stop(), running.values()))
    for missing, (_, directory) in running.items():
        result[missing] = lost_with(directory, targets)
    return result


def test_the_six_are_enough(losses):
    assert losses[None] == set()


def test_each_of_them_is_needed_for_what_the_table_says(losses, source):
    text = (source / "docs/security.md").read_text()
    table = {name.lower(): set(lost.split(", ")) for name, lost in ROW.findall(text)}
    assert {name: table.get(name) for name in NEEDED} == {name: losses[name] for name in NEEDED}
