# SPDX-License-Identifier: Apache-2.0
"""Time that perf counts to the program that runs, and the kernel does not book as its CPU time."""
import os
import pathlib


def stolen_or_interrupted_ms():
    """Of all CPUs: a hypervisor ran others, or interrupts were served."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()
    irq, softirq, steal = map(int, fields[6:9])
    return (irq + softirq + steal) * 1000 // os.sysconf("SC_CLK_TCK")
