# SPDX-License-Identifier: Apache-2.0
"""Cgroups for what is attacked and for who attacks, of either version."""
import contextlib
import pathlib
import re

_PERIOD_US = 100000


class Group:
    """A cgroup of its own, as a user's slice or a pod is: programs in it have one share of the CPUs
    together, however many they are.
    """

    def __init__(self, name):
        root = pathlib.Path("/sys/fs/cgroup")
        self._v2 = (root / "cgroup.controllers").exists()
        if self._v2:
            self._paths = [root / name]
            (root / "cgroup.subtree_control").write_text("+memory +cpu")
        else:
            self._paths = [root / kind / name for kind in ("memory", "cpu", "cpuacct")]
        for path in self._paths:
            path.mkdir(exist_ok=True)

    def prefix(self):
        """Executes what follows within the cgroup."""
        script = "; ".join(f"echo $$ > {path}/cgroup.procs" for path in self._paths)
        return ("sh", "-c", f'{script}; exec "$@"', "sh")

    def remove(self):
        for path in self._paths:
            with contextlib.suppress(OSError):
                path.rmdir()


class Limits(Group):
    """One with `memory_bytes`, and so much of a CPU unless `cpu_share` is None."""

    def __init__(self, name, memory_bytes, cpu_share=None):
        super().__init__(name)
        if self._v2:
            (self._paths[0] / "memory.max").write_text(str(memory_bytes))
        else:
            (self._paths[0] / "memory.limit_in_bytes").write_text(str(memory_bytes))
        if cpu_share:
            self._limit_cpu(int(cpu_share * _PERIOD_US))

    def _limit_cpu(self, quota_us):
        if self._v2:
            (self._paths[0] / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
        else:
            (self._paths[1] / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (self._paths[1] / "cpu.cfs_quota_us").write_text(str(quota_us))

    def high_bytes(self):
        name = "memory.peak" if self._v2 else "memory.max_usage_in_bytes"
        path = self._paths[0] / name
        return int(path.read_text()) if path.exists() else 0

    def kills(self):
        """How often memory ran out."""
        name = "memory.events" if self._v2 else "memory.oom_control"
        found = re.search(r"^oom_kill (\d+)", (self._paths[0] / name).read_text(), re.MULTILINE)
        return int(found[1]) if found else 0

    def cpu_s(self):
        if self._v2:
            text = (self._paths[0] / "cpu.stat").read_text()
            return int(re.search(r"usage_usec (\d+)", text)[1]) / 1e6
        return int((self._paths[2] / "cpuacct.usage").read_text()) / 1e9
