# SPDX-License-Identifier: Apache-2.0
"""What scripts/attack.sh runs: a profiler in a small cgroup, programs of an ordinary user that take
what they can of it, and victims: one program that runs throughout, one that is started anew again
and again.
"""
import argparse
import collections
import contextlib
import http.client
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / name) for name in (".", "e2e", "bench")]

import load_run  # noqa: E402
import pprof_file  # noqa: E402
from free_port import free_port  # noqa: E402
from groups import Group, Limits  # noqa: E402
from odd_neighbour import ends_of  # noqa: E402
from profcol_run import Profcol, pipeline, profile_paths  # noqa: E402
from target_run import as_user  # noqa: E402
from waiting import wait_until  # noqa: E402

USER = 12345
MEMORY_BYTES = 128 << 20
CPU_SHARE = 0.2
VICTIM_S = 15  # so long each of them lives
WIDE_CHAIN = {"burn_leaf", "link_0", "link_19", "main", "_start"}
ORDINARY_CHAIN = {"burn_root", "main", "_start"}
FILLERS = 12
# What greedy.c does, how many of each, and its count.
GREEDY = {
    "files": (1, 20000),
    "mappings": (3, 0),
    "processes": (1, 300),
    "map": (1, 0),
    "name": (1, 0),
    "fork": (1, 0),
    "execute": (1, 0),
    "thread": (1, 0),
    "apart": (1, 0),
}
CRAFTED = ("holes", "aliases", "frames")  # what crafted.py makes of a program
LOCKED = ("memory", "exec", "turns")  # how locked_memory.c keeps its lock
SILENT = {"silent": signal.SIGUSR1, "unclosable": signal.SIGUSR2}  # the signal that silences its server
KINDS = ["rules", *GREEDY, *CRAFTED, *(f"locked-{how}" for how in LOCKED), *SILENT]
KINDS += ["forged", "connections"]
SILENT_PROGRAMS = 8
LOSSES = re.compile(
    r"^profcol_\w*"
    r"(lost|refused|dropped|evicted|given_up|put_off|yielded|unanswered|unasked|hanging)"
)
COSTS = ("profcol_overhead_", "profcol_sampling_period_seconds", "profcol_symbol_index_bytes")


def compile_all(directory):
    def build(name, path, *flags):
        command = ["gcc", "-g", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-fomit-frame-pointer"]
        source = SOURCE / f"tests/targets/{name}.c"
        subprocess.run([*command, *flags, source, "-o", directory / path, "-pthread"], check=True)

    build("odd_process", "ordinary")
    build("wide_frames", "wide")
    build("burn", "plain")
    build("greedy", "greedy")
    build("locked_memory", "locked_memory")
    build("silent_file_system", "silent_file_system")
    build("go_forged", "go_forged", "-U_GNU_SOURCE", "-DWITH_MAPS=0", '-DGO_VERSION="1.26.0"')
    for number in range(FILLERS):
        build("many_rules", f"rules{number}", f"-DNUMBER={number}")


def as_attacker(*command):
    return as_user(USER, "nice", "-n", "15", *map(str, command))


class Crowd:
    """Programs that are ended together."""

    def __init__(self):
        self._running = []

    def start(self, command):
        # A group of its own each, so that its children end with it.
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        self._running.append(process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._running.remove(process)

    def end_all(self):
        for process in list(self._running):
            self.end(process)


def start_crafted(crowd, group, directory, kinds):
    crafted = SOURCE / "tests/attack/crafted.py"
    for how in CRAFTED:
        if how in kinds:
            command = as_attacker(sys.executable, crafted, how, directory / "own", directory / "plain")
            crowd.start([*group.prefix(), *command])


def start_locked(crowd, group, directory, kinds):
    for how in LOCKED:
        if f"locked-{how}" in kinds:
            mount = directory / f"locked-{how}"
            mount.mkdir()
            # Becomes the user by itself, once it has mounted.
            crowd.start([*group.prefix(), directory / "locked_memory", mount, str(USER), "8", how])


def start_silent(crowd, group, directory, kind):
    """Programs on a file system that does not answer the profiler any more, or not its closes."""
    mount = directory / kind
    mount.mkdir()
    command = [directory / "silent_file_system", mount, directory / "plain", directory / "run"]
    server = crowd.start([*group.prefix(), *command])
    wait_until(lambda: os.path.ismount(mount), "the mount")
    for _ in range(SILENT_PROGRAMS):
        crowd.start([*group.prefix(), *as_attacker(mount / "program")])
    time.sleep(1)  # they need it themselves
    server.send_signal(SILENT[kind])


def unmount_silent(directory):
    mounts = {pathlib.Path(line.split()[4]) for line in open("/proc/self/mountinfo")}
    for kind in SILENT:
        if directory / kind in mounts:
            subprocess.run(["umount", "-l", directory / kind], check=True)


def start_attackers(crowd, group, directory, kinds, ports):
    own = directory / "own"
    own.mkdir()
    os.chown(own, USER, USER)
    for number in range(FILLERS if "rules" in kinds else 0):
        crowd.start([*group.prefix(), *as_attacker(directory / f"rules{number}")])
    for how, (processes, count) in GREEDY.items():
        for _ in range(processes if how in kinds else 0):
            crowd.start([*group.prefix(), *as_attacker(directory / "greedy", how, own, count)])
    start_crafted(crowd, group, directory, kinds)
    start_locked(crowd, group, directory, kinds)
    for kind in SILENT:
        if kind in kinds:
            start_silent(crowd, group, directory, kind)
    scripts = {"forged": [directory / "go_forged"], "connections": ports}
    for name, arguments in scripts.items():
        if name in kinds:
            script = SOURCE / f"tests/attack/{name}.py"
            crowd.start([*group.prefix(), *as_attacker(sys.executable, script, *arguments)])


class Scraper:
    """Asks for the metrics now and then, as a monitoring system does."""

    def __init__(self, profcol):
        self._profcol = profcol
        self.text = ""  # of the last answer
        self.asked = self.unanswered = 0

    def ask(self):
        self.asked += 1
        try:
            self.text = self._profcol.metrics().text
        except (OSError, http.client.HTTPException):
            self.unanswered += 1


def run_victims(crowd, group, directory, seconds, scraper):
    """One after the other; their numbers."""
    victims = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        victim = crowd.start([*group.prefix(), str(directory / "wide")])
        victims.append(victim.pid)
        scraper.ask()
        time.sleep(min(VICTIM_S, max(0, end - time.monotonic())))
        crowd.end(victim)
    return set(victims)


def judge(paths, of_victim, chain, name):
    ends, chained = collections.Counter(), 0
    short = collections.Counter()  # of each process
    for path in paths:
        samples = [
            sample
            for sample in pprof_file.read(path).samples
            if of_victim(sample) and sample.labels.get("comm") == name
        ]
        ends += ends_of(samples)
        for sample in samples:
            short[sample.labels["pid"]] += sample.count if sample.mark else 0
        chained += sum(s.count for s in samples if not s.mark and chain <= set(s.names))
    total = ends.total() - ends["kernel"]
    share = 100 * ends["whole"] / total if total else 0
    print(f"{name}: {ends['whole']} of {total} stacks are whole, {share:.1f} %; ", end="")
    print(f"{chained} have all names; {dict(ends.most_common())}")
    of_programs = sorted(short.values())
    middle = of_programs[len(of_programs) // 2] if of_programs else 0
    print(f"    of {len(of_programs)} programs; not whole of each: {middle} (median), ", end="")
    print(f"{of_programs[-1] if of_programs else 0} at most; by start {list(short.values())}")


def resident_high_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


def report(limits, seconds, scraper, alive, resident):
    print(f"resident high: {resident / (1 << 20):.1f} MiB, of the first process")
    print("of the cgroup, with its files' pages: ", end="")
    print(f"memory high: {limits.high_bytes() / (1 << 20):.1f} MiB, killed {limits.kills()} times")
    print(f"CPU: {100 * limits.cpu_s() / seconds:.1f} % of one")
    print(f"profcol {'is there still' if alive else 'HAS ENDED'}; losses:")
    for line in sorted(scraper.text.splitlines()):
        if LOSSES.match(line) and not line.endswith(" 0"):
            print(f"    {line}")
    print(f"metrics: {scraper.unanswered} of {scraper.asked} requests without an answer; the last:")
    for line in sorted(scraper.text.splitlines()):
        if line.startswith(COSTS):
            print(f"    {line}")


def configure(out, port):
    """It profiles, and listens to others."""
    exporters = {"pprof": {"directory": str(out), "interval": "10s"}}
    receiver = {"samples_per_second": 49, "reporter_interval": "5s"}
    receiver["overhead"] = {"memory": "64MiB"}  # as deploy/kubernetes/daemonset.yaml has it
    pipelines = {"profiles": {"receivers": ["profiling", "otlp"], "exporters": ["pprof"]}}
    configuration = pipeline(receiver=receiver, exporters=exporters, pipelines=pipelines)
    configuration["receivers"]["otlp"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
    return configuration


def attack(program, minutes, kinds, load, directory, groups):
    limits, attackers, others = groups
    compile_all(directory)
    crowd = Crowd()
    out = directory / "profiles"
    port = free_port()
    configuration = configure(out, port)
    began = time.monotonic()
    profcol = Profcol(program, directory / "run", configuration, limits.prefix())
    try:
        profcol.wait_ready()
        ordinary = crowd.start([*others.prefix(), str(directory / "ordinary"), "plain"])
        if load:
            command = load_run.command(load, "--seconds", round(60 * minutes + 60))
            crowd.start([*others.prefix(), *map(str, command)])
        ports = (profcol.metrics_port, port)
        start_attackers(crowd, attackers, directory, kinds, ports)
        scraper = Scraper(profcol)
        victims = run_victims(crowd, others, directory, 60 * minutes, scraper)
        alive = profcol.is_running() and not limits.kills()
        resident = resident_high_bytes(profcol.pid) if alive else 0
        seconds = time.monotonic() - began
        crowd.end_all()
        report(limits, seconds, scraper, alive, resident)
        if alive:
            profcol.stop()
        paths = profile_paths(out)
        judge(paths, lambda s: s.labels.get("pid") in victims, WIDE_CHAIN, "wide")
        judge(paths, lambda s: s.labels.get("pid") == ordinary.pid, ORDINARY_CHAIN, "ordinary")
    finally:
        crowd.end_all()
        unmount_silent(directory)
        profcol.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="of attackers")
    parser.add_argument("--load", help="of tests/bench, beside them")
    arguments = parser.parse_args()
    if arguments.load:
        load_run.prepare(arguments.load)
    name = f"profcol-attack-{os.getpid()}"
    groups = Limits(name, MEMORY_BYTES, CPU_SHARE), Group(f"{name}-user"), Group(f"{name}-others")
    with tempfile.TemporaryDirectory(prefix="profcol-attack-") as path:
        directory = pathlib.Path(path)
        directory.chmod(0o755)
        try:
            attack(
                arguments.program.resolve(),
                arguments.minutes,
                set(arguments.kinds),
                arguments.load,
                directory,
                groups,
            )
        finally:
            for group in groups:
                group.remove()


if __name__ == "__main__":
    main()
