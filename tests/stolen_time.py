# SPDX-License-Identifier: Apache-2.0
"""Time that perf counts to the program that runs, and the kernel does not book as its CPU time."""
import os
import pathlib


def stolen_ms():
    """In which a hypervisor ran others, and in which interrupts were served, as those of other
    profilers are, of all CPUs.
    """
    interrupts_and_steal = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[6:9]
    return sum(map(int, interrupts_and_steal)) * 1000 // os.sysconf("SC_CLK_TCK")
