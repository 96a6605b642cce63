# SPDX-License-Identifier: Apache-2.0
"""profcol for arm64 on Debian's kernel for it, in an emulated machine whose processor signs return
addresses: its programs load, and stacks are whole. Takes minutes; only run when asked for: make
kernels-arm64.
"""
import subprocess

import pytest

import debian_kernel
import guest
import profiled_guest
import sysroot
import unwind_targets
from decided import Share
from unwind_targets import Target

VERSION = "6.1"

# Signing by an algorithm of the emulator's own: the architecture's takes it ten times as long.
MACHINE = guest.Machine(
    "qemu-system-aarch64",
    ("-M", "virt", "-cpu", "max,pauth=on,pauth-impdef=on"),
    "ttyAMA0",
)

_GLIBC = r"libc\.so\.6 libc\.so\.6 _start"
_STATIC = r"__libc_start_call_main \S+ _start"

_POINTERS_ONLY = (
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-omit-frame-pointer",
    "-mno-omit-leaf-frame-pointer",
)


def _gcc(*flags):
    return ("aarch64-linux-gnu-gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", *flags)


# Besides the layouts of code: where arm64 is different. A frame pointer does not tell where the
# stack pointer was, a leaf has no frame, the vDSO has no tables, but the signals' return in it.
TARGETS = [
    Target(
        "recursion",
        "recursion.c",
        _gcc("-fomit-frame-pointer"),
        tail=_GLIBC,
        leaves=("leaf",),
        functions=5,
    ),
    Target("signed", "shadow_stack.c", _gcc("-mbranch-protection=standard"), tail=_GLIBC),
    Target("signals_static_pie", "signals.c", _gcc("-static-pie"), tail=_STATIC, functions=19),
    Target(
        "threads",
        "threads.c",
        _gcc("-mbranch-protection=standard"),
        roots=("thread_even", "thread_odd"),
        tail=r"libc\.so\.6 libc\.so\.6",
        functions=18,
    ),
    Target("frame_pointers_only", "shadow_stack.c", _gcc(*_POINTERS_ONLY), tail=_GLIBC),
    Target("vdso", "vdso.c", _gcc(), tail=_GLIBC, leaves=("[vdso]",), functions=18),
]

# Without tables a function that has not set up its frame hides its caller. The emulator takes
# interrupts between pieces of code, at the first instruction of a function more than elsewhere.
WRONG = {"frame_pointers_only": Share(fine=0.03, fault=0.06)}

NAMES = [target.name for target in TARGETS]

pytestmark = pytest.mark.kernels_arm64


@pytest.fixture(scope="module")
def targets(source, tmp_path_factory):
    """Name to Built."""
    directory = tmp_path_factory.mktemp("targets")
    folder = source / "tests/targets"
    return {
        target.name: profiled_guest.Built(target, *unwind_targets.build(target, folder, directory))
        for target in TARGETS
    }


@pytest.fixture(scope="module")
def run(program, targets, source):
    """The Run in the emulated machine; its console and what came back stay in build/kernels."""
    directory = source / "build/kernels" / f"{VERSION}-arm64"
    try:
        root = sysroot.sysroot()
        archive = profiled_guest.archive(
            program,
            targets,
            {"busybox": root / "bin/busybox", "bpftool": root / "usr/sbin/bpftool"},
            lambda archive, path: sysroot.add_libraries(root, archive, path),
        )
        kernel = debian_kernel.kernel(VERSION, "arm64")
        return profiled_guest.run(MACHINE, kernel, archive, directory)
    except (guest.Failed, debian_kernel.Unavailable) as why:
        pytest.fail(str(why), pytrace=False)


def test_it_is_that_kernel(run):
    assert run.text("release").startswith(f"{VERSION}.")
    assert "arm64" in run.text("release")


def test_every_program_loads(program, run):
    run.check_loads(profiled_guest.bpf_objects(program))


def test_it_starts_samples_and_ends(run):
    run.check_balance()


def test_first_samples_are_finished_later(run):
    run.check_first_samples()


def test_return_addresses_are_signed(targets):
    """What the stacks of that target are worth."""
    command = ["aarch64-linux-gnu-objdump", "-d", targets["signed"].path]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert code.count("\tpaciasp") >= 10


@pytest.mark.parametrize("name", NAMES)
def test_stacks_are_true(name, run, targets):
    run.check_stacks(name, targets[name], WRONG.get(name, profiled_guest.RARELY_WRONG))
