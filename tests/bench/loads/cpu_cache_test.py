# SPDX-License-Identifier: Apache-2.0
"""The size that the load `cold` goes by."""
import pytest

import cpu_cache


def _make(directory, *caches):
    for index, (level, kind, size) in enumerate(caches):
        one = directory / f"index{index}"
        one.mkdir(parents=True)
        (one / "level").write_text(f"{level}\n")
        (one / "type").write_text(f"{kind}\n")
        if size:
            (one / "size").write_text(f"{size}\n")


@pytest.mark.parametrize(
    ("caches", "size"),
    [
        ([(1, "Data", "48K"), (1, "Instruction", "64K"), (2, "Unified", "2048K")], 2 << 20),
        ([(3, "Unified", "32768K"), (2, "Unified", "1M"), (1, "Data", "32K")], 32 << 20),
        ([(1, "Data", "32K"), (2, "Unified", None)], 32 << 10),
        ([(1, "Data", None)], None),
        ([], None),
    ],
)
def test_the_last_level_counts_where_the_kernel_knows_it(tmp_path, caches, size):
    _make(tmp_path, *caches)
    assert cpu_cache.last_level_bytes(tmp_path) == size


@pytest.mark.parametrize(
    ("known", "cpus", "size"),
    [
        (32 << 20, 2, 32 << 20),
        (480 << 20, 2, 128 << 20),  # a host's, told to a small virtual machine
        (480 << 20, 64, 480 << 20),
        (None, 2, cpu_cache.ASSUMED_BYTES),
    ],
)
def test_no_more_is_exceeded_than_so_many_cpus_have(known, cpus, size):
    assert cpu_cache.bytes_to_exceed(known, cpus) == size
