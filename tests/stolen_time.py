# SPDX-License-Identifier: Apache-2.0
"""Time that perf counts to the program that runs, and the kernel does not book as its CPU time."""
import os
import pathlib


def stolen_ms():
    """In which a hypervisor ran others, of all CPUs."""
    ticks = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[8]
    return int(ticks) * 1000 // os.sysconf("SC_CLK_TCK")
