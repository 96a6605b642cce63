# SPDX-License-Identifier: Apache-2.0
"""profcol on Debian's kernels, each in an emulated machine: its programs load, and stacks are
whole. Takes minutes; only run when asked for: make kernels.
"""
import collections
import dataclasses
import functools
import json
import os
import pathlib
import shutil

import pytest

import debian_kernel
import guest
import pprof_file
import shadow_file
from profcol_run import READY, parse_balances, pipeline, profile_paths
from true_chains import TrueChains, Verdict, user_part
from unwind_targets import TARGETS, build

# The layouts that differ for the kernel's side: rules of a file and of its libraries, one file
# for all, frames of the kernel's signals, the registers with which threads entered it.
NAMES = ("omit_frame_pointer", "static_pie", "signals", "threads")
RATE = 99
WARM_S = 15  # in the guest, until every table is made
PROFILED_S = 10

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

SCRIPT = """\
cd /result
mount -t bpf bpf /sys/fs/bpf
for object in /bpf/*; do
	bpftool prog load $object /sys/fs/bpf/program > ${{object##*/}}.verifier 2>&1
	echo ${{object##*/}} $? >> loads
	rm -f /sys/fs/bpf/program
done
/usr/bin/profcol --config /pipeline.yaml > out 2> log &
profcol=$!
until grep -q '{ready}' log; do
	kill -0 $profcol || {{ wait $profcol; exit; }}
	sleep 1
done
for name in {names}; do
	/targets/$name /result/$name.shadow > /dev/null &
	echo $name $! >> pids
done
sleep {warm}
date +%s > late
sleep {profiled}
kill -TERM $profcol
wait $profcol
"""

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.parametrize("version", debian_kernel.RELEASES),
]


@dataclasses.dataclass(frozen=True)
class Run:
    """What came back from a guest."""

    path: pathlib.Path

    def text(self, name):
        return (self.path / name).read_text(errors="replace").strip()

    def pids(self):
        """Name of each target to its process id."""
        return {name: int(pid) for name, pid in map(str.split, self.text("pids").splitlines())}


@pytest.fixture(scope="module")
def targets(source, tmp_path_factory):
    """Name to (Target, path, file with its symbols)."""
    directory = tmp_path_factory.mktemp("targets")
    wanted = [target for target in TARGETS if target.name in NAMES]
    return {one.name: (one, *build(one, source / "tests/targets", directory)) for one in wanted}


def bpf_objects(program):
    """The BPF programs of the build that `program` is from."""
    return sorted((program.parent / "bpf").glob("*.bpf.o"))


@pytest.fixture(scope="module")
def archive(program, targets):
    """The guest's file system."""
    busybox, bpftool = (shutil.which(name, path=PATH) for name in ("busybox", "bpftool"))
    assert busybox and bpftool, "no busybox or no bpftool; run: scripts/setup.sh kernels"
    script = SCRIPT.format(
        ready=READY, names=" ".join(targets), warm=WARM_S, profiled=PROFILED_S
    )
    archive = guest.initramfs(script, busybox)
    for path, name in [
        (program, "usr/bin/profcol"),
        (bpftool, "usr/bin/bpftool"),
        *((path, f"targets/{name}") for name, (_, path, _) in targets.items()),
    ]:
        archive.add_file(name, path)
        archive.add_libraries(path)
    for path in bpf_objects(program):
        archive.add_file(f"bpf/{path.name}", path)
    receiver = {"samples_per_second": RATE, "symbolization_wait": "2s"}
    exporters = {"pprof": {"directory": "/result/profiles", "interval": "1s"}}
    archive.add_text("pipeline.yaml", json.dumps(pipeline(receiver=receiver, exporters=exporters)))
    return archive


@pytest.fixture(scope="module")
def run_on(archive, source):
    """run_on(version): the Run on that kernel, made when first asked for, or why there is none.
    Its console and what came back stay in build/kernels.
    """

    @functools.cache
    def start(version):
        directory = source / "build/kernels" / version
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        try:
            kernel = debian_kernel.kernel(version)
            return Run(guest.run(guest.AMD64, kernel, archive, directory))
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


@pytest.fixture
def judged(run, name, targets):
    """[(Judged, kernel frames, count)] of the samples of a target, once its tables are made."""
    assert run.text("status") == "0", run.text("log")
    target, _, symbols = targets[name]
    shadow = shadow_file.read(run.path / f"{name}.shadow")
    checker = TrueChains(target, f"/targets/{name}", symbols, shadow)
    pid, late_ns = run.pids()[name], int(run.text("late")) * 1_000_000_000
    profiles = map(pprof_file.read, profile_paths(run.path / "profiles"))
    return [
        (
            checker.judge(sample.frames),
            len(sample.frames) - len(user_part(sample.frames)),
            sample.count,
        )
        for profile in profiles
        if profile.time_ns >= late_ns
        for sample in profile.of_pid(pid)
    ]


def test_it_is_that_kernel(version, run):
    print(run.text("release"))
    assert run.text("release").startswith(f"{version}.")


def test_every_program_loads(program, run):
    loads = dict(map(str.split, run.text("loads").splitlines()))
    for name, status in loads.items():
        words = run.text(f"{name}.verifier")
        assert status == "0", f"{name}, all of it in {run.path}/{name}.verifier:\n{words[-2000:]}"
    assert set(loads) == {path.name for path in bpf_objects(program)}


def test_it_starts_samples_and_ends(run):
    log = run.text("log")
    print(log)
    assert READY in log
    assert run.text("status") == "0"
    (balance,) = parse_balances(log)
    balance.check()
    assert balance.exported > 0 and balance.lost == 0


@pytest.mark.parametrize("name", NAMES)
def test_stacks_are_true(version, name, judged):
    """99.9 % of them, from the leaf to the entry of the program or thread."""
    verdicts, wrong = collections.Counter(), collections.Counter()
    from_kernel = 0
    for one, kernel_frames, count in judged:
        verdicts[one.verdict] += count
        from_kernel += count if kernel_frames else 0
        if one.verdict in (Verdict.WRONG, Verdict.ELSEWHERE):
            wrong[one.shown] += count
    told = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
    print(f"{version} {name}: {told}; {from_kernel} in the kernel")
    for shown, count in wrong.most_common(5):
        print(f"  {count}: {' '.join(shown)}"[:600])
    assert verdicts.total() >= 100, "too few samples to judge by"
    assert wrong.total() <= 0.001 * verdicts.total()
    # What the kernel does for the program takes its share, of an emulated one a large one.
    assert verdicts[Verdict.TRUE] >= 0.8 * verdicts.total()
