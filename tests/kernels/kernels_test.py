# SPDX-License-Identifier: Apache-2.0
"""profcol on Debian's kernels, each in an emulated machine: its programs load, and stacks are
whole. Takes minutes; only run when asked for: make kernels. The oldest one is part of make test-all,
too: it has the fewest helpers and the strictest verifier, and starts fastest.
"""
import functools
import os
import shutil

import pytest

import debian_kernel
import guest
import profiled_guest
from unwind_targets import TARGETS, build

# The layouts that differ for the kernel's side: rules of a file and of its libraries, one file
# for all, frames of the kernel's signals, the registers with which threads entered it.
NAMES = ("omit_frame_pointer", "static_pie", "signals", "threads")

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

ONE = "5.10"

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.parametrize(
        "version",
        [
            pytest.param(version, marks=[pytest.mark.kernel_one] if version == ONE else [])
            for version in debian_kernel.RELEASES
        ],
    ),
]


@pytest.fixture(scope="module")
def targets(source, tmp_path_factory):
    """Name to Built."""
    directory, folder = tmp_path_factory.mktemp("targets"), source / "tests/targets"
    return {
        target.name: profiled_guest.Built(target, *build(target, folder, directory))
        for target in TARGETS
        if target.name in NAMES
    }


@pytest.fixture(scope="module")
def archive(program, targets):
    """The guest's file system."""
    tools = {name: shutil.which(name, path=PATH) for name in ("busybox", "bpftool")}
    assert all(tools.values()), "no busybox or no bpftool; run: scripts/setup.sh kernels"
    return profiled_guest.archive(
        program, targets, tools, lambda archive, path: archive.add_libraries(path)
    )


@pytest.fixture(scope="module")
def run_on(archive, source):
    """run_on(version): the Run on that kernel, made when first asked for, or why there is none.
    Its console and what came back stay in build/kernels.
    """

    @functools.cache
    def start(version):
        directory = source / "build/kernels" / version
        try:
            kernel = debian_kernel.kernel(version)
            return profiled_guest.run(guest.AMD64, kernel, archive, directory)
        except (guest.Failed, debian_kernel.Unavailable) as why:
            return why

    return start


@pytest.fixture
def run(version, run_on):
    run = run_on(version)
    if isinstance(run, Exception):
        pytest.fail(str(run), pytrace=False)
    print(f"console: {run.path.parent / 'console.log'}")
    return run


def test_it_is_that_kernel(version, run):
    print(run.text("release"))
    assert run.text("release").startswith(f"{version}.")


# Events that a kernel cannot have (docs/events.md): notes of threads came with Linux 5.11, and the
# exchange of values with 5.12; in its place another program samples memory growth.
_LACKING = {
    "5.10": {
        "memory_growth.bpf.o": "BPF_STX uses reserved fields",
        "off_cpu.bpf.o": "failed to create",
        "wakers.bpf.o": "failed to create",
    }
}


def test_every_program_loads(version, program, run):
    run.check_loads(profiled_guest.bpf_objects(program), _LACKING.get(version))


def test_memory_growth_is_sampled(run):
    run.check_memory_growth()


def test_it_starts_samples_and_ends(run):
    run.check_balance()


def test_first_samples_are_finished_later(run):
    run.check_first_samples()


@pytest.mark.parametrize("name", NAMES)
def test_stacks_are_true(name, run, targets):
    run.check_stacks(name, targets[name])
