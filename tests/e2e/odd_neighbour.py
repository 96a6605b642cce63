# SPDX-License-Identifier: Apache-2.0
"""An ordinary program that is profiled while something odd happens beside it: whatever that is,
the stacks of the ordinary one stay whole, and the profiler stays small and ends in order.
"""
import collections
import contextlib
import os
import pathlib
import re
import signal

import pprof_file
from profcol_run import pipeline, profile_paths
from target_run import Target, cpu_ms
from waiting import wait_until

RATE = 199
ORDINARY_MS = 1000  # CPU time of the ordinary program that is judged
LEAST_SAMPLES = 60
SETTLED_SAMPLES = 10  # all whole, one after the other: the ordinary program is known
LEAST_WHOLE = 0.99
UNKNOWN_PROCESS = "[process not in the unwind tables]"
# Of a build with sanitizers, which keeps what is freed and shadows the rest, and of others.
MEMORY_MOST_SANITIZED, MEMORY_MOST = 1 << 30, 96 << 20
# Of tables and files, and 1,024 of indexes of functions: the neighbours have many.
DESCRIPTORS_MOST = 2048 + 1024

_SYSTEM = re.compile(r"/(libc\.so\.6|ld-linux-[^/]*\.so\.\d|libc-[\d.]+\.so)$")


def user_files(sample):
    """Files of its user code but for those of the system."""
    return {
        frame.file
        for frame in sample.frames
        if frame.file.startswith("/") and not _SYSTEM.search(frame.file)
    }


def since_exec(samples, path):
    """Those of the program at `path`, which the process has executed after it was forked."""
    return [s for s in samples if s.labels.get("comm") == pathlib.Path(path).name]


def ends_of(samples):
    """Counter of how they end; "kernel" where nothing of the user's is to be seen."""
    ends = collections.Counter()
    for sample in samples:
        users = any(frame.file.startswith("/") for frame in sample.frames)
        ends[sample.mark or ("whole" if users else "kernel")] += sample.count
    return ends


def assert_whole(samples, least, share=0.9, first_moments=0.5):
    """At least `least` of them are whole, and that share of those of a process that is known; of
    the first moments before are at most so many, which is for slow machines and builds.
    """
    ends = ends_of(samples)
    print(f"ends: {dict(ends)}")
    known = ends.total() - ends["kernel"] - ends[UNKNOWN_PROCESS]
    assert ends["whole"] >= least
    assert ends["whole"] >= share * known
    assert ends[UNKNOWN_PROCESS] <= first_moments * ends.total()
    return ends


def named(samples, *names):
    """How many have all of these functions."""
    return sum(sample.count for sample in samples if set(names) <= set(sample.names))


def _kinds_of_descriptors(pid):
    kinds = collections.Counter()
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            kinds[re.sub(r"\d+|(?<=^/).*", "...", os.readlink(path))] += 1
    return kinds


_CHAIN = ("burn_middle", "burn_root", "main", "_start")  # of the ordinary program


class Neighbourhood:
    """Programs, and once profile() is called the profiler with an ordinary one; finish() ends and
    judges these two, kill() ends all.
    """

    def __init__(self, start_profcol, ordinary, directory):
        self._start_profcol = start_profcol
        self._ordinary_path = ordinary
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self._parsed = {}  # profiles by path

    def start(self, *command, **options):
        """A Target."""
        target = Target(*command, **options)
        self._stack.callback(target.kill)
        return target

    def kill(self):
        self._stack.close()

    def profile(self, prefix=(), extensions=None):
        """Start the profiler, behind `prefix`."""
        directory = self._directory
        self.out = directory / "out"
        exporters = {"pprof": {"directory": str(self.out), "interval": "500ms"}}
        receiver = {"samples_per_second": RATE, "symbolization_wait": "2s"}
        configuration = pipeline(receiver=receiver, exporters=exporters)
        if extensions:
            configuration["extensions"] = extensions
            configuration["service"]["extensions"] = list(extensions)
        self.run = self._start_profcol(configuration, directory / "run", prefix).wait_ready()
        self._stack.callback(self.run.kill)
        self._settle()
        return self

    def _settle(self):
        """Until the ordinary program is known, whatever else the profiler meets at its start."""
        self.ordinary = self.start(self._ordinary_path, "plain")
        what = "whole stacks with names of the ordinary program"
        self._settled_ns = wait_until(self._find_settled, what)

    def _find_settled(self):
        """The end of the first files in a row in which all of its stacks are whole and named."""
        whole = 0
        for path in profile_paths(self.out):
            profile = self._read(path)
            samples = profile.of_pid(self.ordinary.pid)
            ends = ends_of(samples)
            # Later ones are named as these are: a busy worker may take longer than a batch waits.
            are_named = named(samples, *_CHAIN) >= LEAST_WHOLE * ends.total()
            whole = whole + ends["whole"] if ends["whole"] == ends.total() and are_named else 0
            if whole >= SETTLED_SAMPLES:
                return profile.time_ns + profile.duration_ns
        return None

    def await_samples(self, milliseconds=ORDINARY_MS):
        """So that there is enough to judge the ordinary program by."""
        self.ordinary.wait_burnt(milliseconds)
        # Where the disk is slow one file, which may have begun too early, has what many should.
        wait_until(self._has_enough, "files with samples of the ordinary program")

    def await_name(self, target, name):
        """Until a function of `target` is called so; the end of the first file that says it."""

        return wait_until(
            lambda: self._exported_ns(target.pid, name), f"{name} among the names of {target.pid}"
        )

    def _exported_ns(self, pid, function):
        """The end of the first file with a stack of the process that has the function, or None."""
        for path in profile_paths(self.out):
            profile = self._read(path)
            if named(profile.of_pid(pid), function):
                return profile.time_ns + profile.duration_ns
        return None

    def _read(self, path):
        if path not in self._parsed:
            self._parsed[path] = pprof_file.read(path)
        return self._parsed[path]

    def _read_profiles(self):
        self._profiles = [self._read(path) for path in profile_paths(self.out)]

    def _settled_samples(self):
        return self.of_time(self.ordinary.pid, self._settled_ns)

    def _has_enough(self):
        self._read_profiles()
        return ends_of(self._settled_samples()).total() >= LEAST_SAMPLES

    def has_exported(self, pid, function):
        """Has a stack of the process with that function left already?"""
        return self._exported_ns(pid, function) is not None

    def labels_of(self, pid, key):
        """What the exported samples of the process have as that label."""
        return {
            sample.labels.get(key)
            for path in profile_paths(self.out)
            for sample in self._read(path).of_pid(pid)
        }

    def finish(self):
        """All samples that were taken, by process."""
        self._check_size()
        # Not killed: a process that is being taken apart has no stack.
        self.ordinary.process.send_signal(signal.SIGSTOP)
        self.metrics = self.run.metrics()
        self.run.stop()
        self._read_profiles()
        self._judge(self._settled_samples())
        samples = collections.defaultdict(list)
        for profile in self._profiles:
            for sample in profile.samples:
                samples[sample.labels.get("pid")].append(sample)
        return samples

    def of_time(self, pid, from_ns, until_ns=None):
        """The samples of a process in files that lie between these times."""
        found = []
        for profile in self._profiles:
            end_ns = profile.time_ns + profile.duration_ns
            if profile.time_ns >= from_ns and (not until_ns or end_ns <= until_ns):
                found += profile.of_pid(pid)
        return found

    def _judge(self, samples):
        ends = ends_of(samples)
        print(f"ordinary: {dict(ends)}")
        assert ends.total() >= LEAST_SAMPLES, "too few of the ordinary program to judge by"
        assert ends["whole"] >= LEAST_WHOLE * ends.total()
        whole = [sample for sample in samples if not sample.mark]
        least = LEAST_WHOLE * ends.total()
        assert named(whole, *_CHAIN) >= least
        assert all(user_files(sample) <= {str(self._ordinary_path)} for sample in samples)

    def _check_size(self):
        status = pathlib.Path(f"/proc/{self.run.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
        maps = pathlib.Path(f"/proc/{self.run.pid}/maps").read_text()
        self.is_sanitized = "libasan" in maps
        most = MEMORY_MOST_SANITIZED if self.is_sanitized else MEMORY_MOST
        kinds = _kinds_of_descriptors(self.run.pid)
        descriptors = kinds.total()
        cpu = cpu_ms(self.run.pid)
        print(f"profcol: {peak >> 20} MiB, {descriptors} descriptors, {cpu} ms of CPU time")
        assert peak <= most
        assert descriptors <= DESCRIPTORS_MOST, kinds.most_common(8)
