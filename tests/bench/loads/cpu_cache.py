# SPDX-License-Identifier: Apache-2.0
"""How much the processor's caches hold."""
import pathlib

CPU = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")

# Where the kernel does not say, as on some virtual machines.
ASSUMED_BYTES = 64 << 20

# Others tell of the host's cache, all of it, which the host's other machines use as well.
# Processors have less than this for each of their CPUs.
MOST_BYTES_OF_CPU = 64 << 20

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _read(path):
    return path.read_text().strip()


def _bytes(text):
    """Of a size as the kernel writes it: 32768K."""
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else int(text)


def last_level_bytes(caches=CPU):
    """The size of the last level of cache in front of a CPU; None where the kernel does not say."""
    sizes = [
        (int(_read(one / "level")), _bytes(_read(one / "size")))
        for one in caches.glob("index*")
        if (one / "size").exists() and _read(one / "type") != "Instruction"
    ]
    return max(sizes)[1] if sizes else None


def bytes_to_exceed(known, cpus):
    """How much code is sure not to stay in the cache of this many CPUs; @known as of
    last_level_bytes."""
    return min(known or ASSUMED_BYTES, MOST_BYTES_OF_CPU * cpus)
