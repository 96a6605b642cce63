# SPDX-License-Identifier: Apache-2.0
"""CPU time, memory and BPF objects of a process with its descendants."""
import contextlib
import dataclasses
import os
import pathlib
import re
import time

from watch import Watch

_TICKS = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)
_STATUS = re.compile(r"^(VmHWM|VmRSS|RssAnon):\s+(\d+) kB$", re.MULTILINE)
_FDINFO = re.compile(r"^(prog_id|map_id):\s*(\d+)$", re.MULTILINE)
_BPF_LINK = re.compile(r"anon_inode:\[?bpf[-_]")

SAMPLING_S = 0.2


def tree(pid):
    """The process and its descendants that are alive."""
    found, queue = [], [pid]
    while queue:
        current = queue.pop()
        found.append(current)
        queue += _children(current)
    return found


def _children(pid):
    """Of all its threads; of those that end meanwhile, none."""
    found = []
    with contextlib.suppress(*_GONE):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE):
                text = pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += map(int, text.split())
    return found


def _clock_s(pid):
    """CPU time of a process to the nanosecond, ended threads included.

    /proc counts in ticks, too coarse for the little that a profiler uses: this is
    clock_getcpuclockid(3), whose id is the complement of the pid and the scheduler's clock.
    """
    return time.clock_gettime((~pid << 3) | 2)


@dataclasses.dataclass(frozen=True)
class Cpu:
    """CPU seconds. The sum is exact; how it divides is known to a tick for each process."""

    total_s: float
    user_ticks: int
    system_ticks: int

    @classmethod
    def of(cls, pid):
        """Of the whole tree, and of those of its children that have ended."""
        total_s, user, system = 0.0, 0, 0
        for each in tree(pid):
            try:
                stat = pathlib.Path(f"/proc/{each}/stat").read_text(errors="replace")
                total_s += _clock_s(each)
            except (*_GONE, OSError):
                continue
            fields = list(map(int, stat.rpartition(")")[2].split()[11:15]))
            user += fields[0] + fields[2]
            system += fields[1] + fields[3]
            total_s += (fields[2] + fields[3]) / _TICKS
        return cls(total_s, user, system)

    def since(self, earlier):
        """{"total_s", "user_s", "system_s"}; the parts are None where no tick tells them."""
        total_s = self.total_s - earlier.total_s
        user = self.user_ticks - earlier.user_ticks
        system = self.system_ticks - earlier.system_ticks
        share = user / (user + system) if user + system > 0 else None
        return {
            "total_s": total_s,
            "user_s": None if share is None else total_s * share,
            "system_s": None if share is None else total_s * (1 - share),
        }


def _memory_kib(pid):
    """{"VmHWM", "VmRSS", "RssAnon"}; empty when it has ended or is about to."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    except _GONE:
        return {}
    return {name: int(kib) for name, kib in _STATUS.findall(status)}


def _descriptors(pid):
    """How many of a process are open, without those of BPF objects, whose memory is counted."""
    found = 0
    with contextlib.suppress(OSError):
        for link in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found += not _BPF_LINK.match(os.readlink(link.path))
    return found


def held_now(pid):
    """What the tree holds at this moment."""
    processes = tree(pid)
    memory = [_memory_kib(each) for each in processes]
    return {
        "rss_bytes": 1024 * sum(each.get("VmRSS", 0) for each in memory),
        "anonymous_bytes": 1024 * sum(each.get("RssAnon", 0) for each in memory),
        "descriptors": sum(map(_descriptors, processes)),
        "processes": len(processes),
    }


class MemoryWatch(Watch):
    """Peaks of memory, looked at five times a second."""

    def __init__(self, pid):
        super().__init__(SAMPLING_S)
        self._pid = pid
        self._peaks_kib = {}  # by pid; the kernel keeps it, so that it is exact
        self._rss_kib = 0
        self._anonymous_kib = 0

    def look(self):
        rss = anonymous = 0
        for pid in tree(self._pid):
            values = _memory_kib(pid)
            if not values:
                continue
            self._peaks_kib[pid] = max(values["VmHWM"], self._peaks_kib.get(pid, 0))
            rss += values["VmRSS"]
            anonymous += values["RssAnon"]
        self._rss_kib = max(rss, self._rss_kib)
        self._anonymous_kib = max(anonymous, self._anonymous_kib)

    def peaks(self):
        """Bytes: the sum of the processes' own peaks, and the peaks of the sums over them."""
        return {
            "peak_rss_bytes": 1024 * sum(self._peaks_kib.values()),
            "peak_sum_rss_bytes": 1024 * self._rss_kib,
            "peak_anonymous_bytes": 1024 * self._anonymous_kib,
            "processes": len(self._peaks_kib),
        }


@dataclasses.dataclass(frozen=True)
class Held:
    """Ids of BPF programs and of maps."""

    programs: set
    maps: set


def _bpf_objects(pid):
    """Ids of the BPF programs and of the maps that a process holds open, links included."""
    found = {"prog_id": set(), "map_id": set()}
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            if not _BPF_LINK.match(os.readlink(f"/proc/{pid}/fd/{number}")):
                continue
            text = pathlib.Path(f"/proc/{pid}/fdinfo/{number}").read_text()
        except OSError:
            continue
        for kind, value in _FDINFO.findall(text):
            found[kind].add(int(value))
    return found


def bpf_objects_held(pid):
    """Ids of BPF programs and of maps that are held open: by the tree, and by all others."""
    own = set(tree(pid))
    programs, maps = (set(), set()), (set(), set())
    for holder in map(int, filter(str.isdigit, os.listdir("/proc"))):
        other = holder not in own
        held = _bpf_objects(holder)
        programs[other].update(held["prog_id"])
        maps[other].update(held["map_id"])
    return Held(programs[0], maps[0]), Held(programs[1], maps[1])
