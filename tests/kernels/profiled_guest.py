# SPDX-License-Identifier: Apache-2.0
"""A guest in which profcol profiles programs that know their own stacks, and what came back."""
import collections
import dataclasses
import json
import pathlib
import shutil

import guest
import pprof_file
import prometheus_text
import shadow_file
from profcol_run import READY, parse_balances, pipeline, profile_paths, with_metrics
from true_chains import TrueChains, Verdict, user_part

RATE = 99
WARM_S = 15  # in the guest, until every table is made
PROFILED_S = 10  # unless told otherwise
METRICS_PORT = 8888

_SCRIPT = """\
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
wget -q -O metrics http://127.0.0.1:{port}/metrics
kill -TERM $profcol
wait $profcol
"""


@dataclasses.dataclass(frozen=True)
class Built:
    """A program that knows its own stacks."""

    target: object  # unwind_targets.Target
    path: pathlib.Path
    symbols: pathlib.Path


# Of arm64 these are the kernel's leaves while it writes a thread's registers one by one, for a
# signal's handler or from what one has left: meanwhile they are of no stack that the program had.
_REGISTER_WRITERS = frozenset(("do_notify_resume", "__arm64_sys_rt_sigreturn"))


def _changes_registers(sample):
    return bool(sample.frames) and sample.frames[0].name in _REGISTER_WRITERS


def bpf_objects(program):
    """The BPF programs of the build that `program` is from."""
    return sorted((program.parent / "bpf").glob("*.bpf.o"))


def archive(program, targets, tools, add_libraries, profiled_s=PROFILED_S):
    """The file system of a guest: `program` profiles `targets`, name to Built. `tools` has the
    paths of `busybox` and `bpftool`; add_libraries(archive, path) adds what a program needs.
    """
    script = _SCRIPT.format(
        ready=READY,
        names=" ".join(targets),
        warm=WARM_S,
        profiled=profiled_s,
        port=METRICS_PORT,
    )
    made = guest.initramfs(script, tools["busybox"])
    for path, name in [
        (program, "usr/bin/profcol"),
        (tools["bpftool"], "usr/bin/bpftool"),
        *((built.path, f"targets/{name}") for name, built in targets.items()),
    ]:
        made.add_file(name, path)
        add_libraries(made, path)
    for path in bpf_objects(program):
        made.add_file(f"bpf/{path.name}", path)
    receiver = {"samples_per_second": RATE, "symbolization_wait": "2s"}
    exporters = {"pprof": {"directory": "/result/profiles", "interval": "1s"}}
    configuration = with_metrics(pipeline(receiver=receiver, exporters=exporters), METRICS_PORT)
    made.add_text("pipeline.yaml", json.dumps(configuration))
    return made


@dataclasses.dataclass(frozen=True)
class Run:
    """What came back from a guest."""

    path: pathlib.Path

    def text(self, name):
        return (self.path / name).read_text(errors="replace").strip()

    def pids(self):
        """Name of each target to its process id."""
        return {name: int(pid) for name, pid in map(str.split, self.text("pids").splitlines())}

    def check_loads(self, objects):
        """Every BPF program of `objects` has loaded."""
        loads = dict(map(str.split, self.text("loads").splitlines()))
        for name, status in loads.items():
            words = self.text(f"{name}.verifier")
            where = f"{self.path}/{name}.verifier"
            assert status == "0", f"{name}, all of it in {where}:\n{words[-2000:]}"
        assert set(loads) == {path.name for path in objects}

    def check_balance(self):
        """The program started, sampled, ended, and lost nothing."""
        log = self.text("log")
        print(log)
        assert READY in log
        assert self.text("status") == "0"
        (balance,) = parse_balances(log)
        balance.check()
        assert balance.exported > 0 and balance.lost == 0

    def check_first_samples(self):
        """Stacks of programs that were not known yet have been copied, and walked later."""
        metrics = prometheus_text.Metrics(self.text("metrics") + "\n")
        stacks = {
            labels["result"]: int(value)
            for labels, value in metrics.of("profcol_unwind_deferred_stacks")
        }
        print(f"{self.text('release')}: {stacks}")
        assert stacks["finished"] > 0

    def judged(self, name, built):
        """[(Judged, kernel frames, count)] of a target's samples, once its tables are made."""
        assert self.text("status") == "0", self.text("log")
        shadow = shadow_file.read(self.path / f"{name}.shadow")
        checker = TrueChains(built.target, f"/targets/{name}", built.symbols, shadow)
        pid, late_ns = self.pids()[name], int(self.text("late")) * 1_000_000_000
        profiles = map(pprof_file.read, profile_paths(self.path / "profiles"))
        return [
            (
                checker.judge(sample.frames),
                len(sample.frames) - len(user_part(sample.frames)),
                sample.count,
            )
            for profile in profiles
            if profile.time_ns >= late_ns
            for sample in profile.of_pid(pid)
            if not _changes_registers(sample)
        ]

    def check_stacks(self, name, built, most_wrong=0.001):
        """A target's stacks are true, from the leaf to the entry of the program or thread, but for
        a share of `most_wrong`.
        """
        verdicts, wrong = collections.Counter(), collections.Counter()
        from_kernel = 0
        for one, kernel_frames, count in self.judged(name, built):
            verdicts[one.verdict] += count
            from_kernel += count if kernel_frames else 0
            if one.verdict in (Verdict.WRONG, Verdict.ELSEWHERE):
                wrong[one.shown] += count
        told = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
        print(f"{self.text('release')} {name}: {told}; {from_kernel} in the kernel")
        for shown, count in wrong.most_common(5):
            print(f"  {count}: {' '.join(shown)}"[:600])
        assert verdicts.total() >= 100, "too few samples to judge by"
        assert wrong.total() <= most_wrong * verdicts.total()
        # What the kernel does for the program takes its share, of an emulated one a large one.
        assert verdicts[Verdict.TRUE] >= 0.8 * verdicts.total()


def run(machine, kernel, made, directory):
    """The Run of the archive `made` on `kernel`; its console and what came back stay in
    `directory`.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return Run(guest.run(machine, kernel, made, directory))
