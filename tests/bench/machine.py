# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on, and with what."""
import os
import pathlib
import platform
import re
import subprocess

from profilers import SOURCE


def _match(path, pattern, default="unknown"):
    match = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return match[1].strip() if match else default


def describe(versions):
    """The machine, with these versions of what was measured on it."""
    memory_kib = int(_match("/proc/meminfo", r"^MemTotal:\s+(\d+)", "0"))
    return {
        "cpus": os.cpu_count(),
        "model": _match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$"),
        "memory_mib": memory_kib // 1024,
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "system": _match("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
        "versions": versions,
    }


def commit():
    """The commit of the tree, marked where it has changes that are not in it."""
    result = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"],
        cwd=SOURCE,
        capture_output=True,
        text=True,
    )
    return result.stdout.strip() or "unknown"
