# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on, and with what."""
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys

from profilers import SOURCE


def _match(path, pattern, default="unknown"):
    match = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return match[1].strip() if match else default


def _cache_kib(level):
    """The size of a cache of the first CPU, or None where the machine does not say."""
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if int((path / "level").read_text()) == level:
                return int((path / "size").read_text().strip().removesuffix("K"))
        except (OSError, ValueError):
            continue
    return None


def describe(versions):
    """The machine, with these versions of what was measured on it."""
    memory_kib = int(_match("/proc/meminfo", r"^MemTotal:\s+(\d+)", "0"))
    return {
        "cpus": os.cpu_count(),
        "model": _match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$"),
        "memory_mib": memory_kib // 1024,
        "l3_kib": _cache_kib(3),
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


def digest(paths):
    """Of the content of files: what tells two builds or states of one commit apart."""
    found = hashlib.sha256()
    for path in paths:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def bench_sources():
    """The files that decide what is run and how it is measured."""
    tests = SOURCE / "tests"
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    found = {pathlib.Path(path).resolve() for path in loaded if path}
    found |= {path for path in (tests / "bench/loads").rglob("*") if path.is_file()}
    return sorted(
        path for path in found if path.is_relative_to(tests) and "__pycache__" not in path.parts
    )
