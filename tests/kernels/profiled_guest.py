# SPDX-License-Identifier: Apache-2.0
"""A guest in which profcol profiles programs that know their own stacks, and what came back."""
import collections
import dataclasses
import functools
import json
import pathlib
import shutil

import bpf_constant
import guest
import pprof_file
import prometheus_text
import shadow_file
from decided import Share, assert_rare
from profcol_run import READY, parse_balances, pipeline, profile_paths, with_metrics
from true_chains import TrueChains, Verdict, user_part

RATE = 299
# The guest ends when there are so many whole stacks for each program. They are more than twice those
# that decide: some come before all tables are made, and no program gets its exact part.
STACKS_EACH = 2500
METRICS_PORT = 8888
# One stack of a thousand may be wrong.
RARELY_WRONG = Share(fine=0.001, fault=0.02)
_LEAST_OF_A_FILE = 10

_SCRIPT = """\
cd /result
mount -t bpf bpf /sys/fs/bpf
for object in /bpf/*; do
	bpftool prog load $object /sys/fs/bpf/program > ${{object##*/}}.verifier 2>&1
	echo ${{object##*/}} $? >> loads
	rm -f /sys/fs/bpf/program
done
mkdir -p /var/tmp
/usr/bin/profcol record -o growth.folded --event memory-growth -- \\
	busybox dd if=/dev/zero of=/dev/null bs=32M count=1 > growth.log 2>&1
echo $? > growth.status
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
until
	sleep 1
	wget -q -O metrics http://127.0.0.1:{port}/metrics
	whole=$(sed -n 's/^profcol_unwind_stacks.*"entry".* //p' metrics)
	[ "${{whole:-0}}" -ge {stacks} ]
do
	kill -0 $profcol || {{ wait $profcol; exit; }}
done
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


_WRONG = (Verdict.WRONG, Verdict.ELSEWHERE)


def _are_known(samples):
    """Whether the stacks of one file, enough of them, show that a program's tables are made."""
    return sum(count for *_, count in samples) >= _LEAST_OF_A_FILE and not any(
        one.verdict in _WRONG for one, *_ in samples
    )


# As it would be for a process that has each of the language runtimes.
_WITH_RUNTIMES = "perf_event_with_runtimes.bpf.o"


@functools.cache
def bpf_objects(program):
    """The BPF programs of the build that `program` is from: name to what is in the file."""
    paths = sorted((program.parent / "bpf").glob("*.bpf.o"))
    objects = {path.name: path.read_bytes() for path in paths}
    sampler = objects["perf_event.bpf.o"]
    objects[_WITH_RUNTIMES] = bpf_constant.with_constant(sampler, "runtimes_known", 0xFFFFFFFF)
    return objects


def archive(program, targets, tools, add_libraries):
    """The file system of a guest: `program` profiles `targets`, name to Built. `tools` has the
    paths of `busybox` and `bpftool`; add_libraries(archive, path) adds what a program needs.
    """
    script = _SCRIPT.format(
        ready=READY,
        names=" ".join(targets),
        stacks=STACKS_EACH * len(targets),
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
    for name, content in bpf_objects(program).items():
        made.add_bytes(f"bpf/{name}", content)
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

    @functools.cached_property
    def _profiles(self):
        """The profiles, oldest first."""
        return [*map(pprof_file.read, profile_paths(self.path / "profiles"))]

    def check_loads(self, objects, lacking=None):
        """Every BPF program of `objects` has loaded but for those `lacking`, for which the kernel has
        not what they need: it says these words.
        """
        lacking = lacking or {}
        loads = dict(map(str.split, self.text("loads").splitlines()))
        for name, status in loads.items():
            words = self.text(f"{name}.verifier")
            where = f"{self.path}/{name}.verifier"
            if name in lacking:
                assert status != "0" and lacking[name] in words, f"{name}: {words[-2000:]}"
                continue
            assert status == "0", f"{name}, all of it in {where}:\n{words[-2000:]}"
        assert loads.keys() == objects.keys()

    def check_memory_growth(self):
        """What a program takes is sampled, by whichever of the programs the kernel can have."""
        said = self.text("growth.log")
        assert self.text("growth.status") == "0", said
        sizes = [int(line.rsplit(" ", 1)[1]) for line in self.text("growth.folded").splitlines()]
        assert sum(sizes) >= 30 << 20, said

    def check_balance(self):
        """The program started, sampled, ended; a busy machine may have had no room for some."""
        log = self.text("log")
        print(log)
        assert READY in log
        assert self.text("status") == "0"
        (balance,) = parse_balances(log)
        balance.check()
        assert balance.exported > 0 and balance.lost_on_the_way == 0

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
        """[(Judged, kernel frames, count)] of a target's samples, once its tables are made: behind
        the first file that has none but true stacks.
        """
        assert self.text("status") == "0", self.text("log")
        shadow = shadow_file.read(self.path / f"{name}.shadow")
        checker = TrueChains(built.target, f"/targets/{name}", built.symbols, shadow)
        pid = self.pids()[name]
        files = [
            [
                (
                    checker.judge(sample.frames),
                    len(sample.frames) - len(user_part(sample.frames)),
                    sample.count,
                )
                for sample in profile.of_pid(pid)
                if not _changes_registers(sample)
            ]
            for profile in self._profiles
        ]
        known = [at for at, samples in enumerate(files) if _are_known(samples)]
        return sum(files[known[0] + 1 :], []) if known else []

    def check_stacks(self, name, built, share=RARELY_WRONG):
        """A target's stacks are true, from the leaf to the entry of the program or thread; those
        that are not are a `share` of them.
        """
        verdicts, wrong = collections.Counter(), collections.Counter()
        from_kernel = 0
        for one, kernel_frames, count in self.judged(name, built):
            verdicts[one.verdict] += count
            from_kernel += count if kernel_frames else 0
            if one.verdict in _WRONG:
                wrong[one.shown] += count
        told = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
        print(f"{self.text('release')} {name}: {told}; {from_kernel} in the kernel")
        for shown, count in wrong.most_common(5):
            print(f"  {count}: {' '.join(shown)}"[:600])
        assert_rare(share, [(wrong.total(), verdicts.total())], f"wrong stacks of {name}")
        # What the kernel does for the program takes its share, of an emulated one a large one.
        assert verdicts[Verdict.TRUE] >= 0.8 * verdicts.total()


def run(machine, kernel, made, directory):
    """The Run of the archive `made` on `kernel`; its console and what came back stay in
    `directory`.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return Run(guest.run(machine, kernel, made, directory))
