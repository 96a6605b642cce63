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
