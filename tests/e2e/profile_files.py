# SPDX-License-Identifier: Apache-2.0
"""The samples of a run that goes on, from the files that it writes."""
import collections
import threading

import pprof_file
from profcol_run import profile_paths
from waiting import wait_until


class Samples:
    """Those of the files in `directory`, by process; of several threads."""

    def __init__(self, directory):
        self._directory = directory
        self._lock = threading.Lock()
        self._read = set()
        self._by_pid = collections.defaultdict(list)

    def _read_new(self):
        for path in set(profile_paths(self._directory)) - self._read:
            self._read.add(path)
            for sample in pprof_file.read(path).samples:
                self._by_pid[sample.labels.get("pid")].append(sample)

    def of(self, *pids):
        """All of these processes that are there."""
        with self._lock:
            self._read_new()
            return [sample for pid in pids for sample in self._by_pid.get(pid, ())]

    def all(self):
        """Of every process."""
        with self._lock:
            self._read_new()
            return [sample for samples in self._by_pid.values() for sample in samples]

    def wait_latest(self):
        """Until all that has been sampled by now is there; something has to be all the time."""
        known = len(profile_paths(self._directory))
        wait_until(lambda: len(profile_paths(self._directory)) > known + 1, "the latest profiles")
