# SPDX-License-Identifier: Apache-2.0
"""Reads what tests/targets/shadow_stack.c writes (`struct shadow` there)."""
import struct

_FUNCTIONS, _NAME_BYTES, _MAX_DEPTH, _MAX_CHAINS = 16, 16, 16, 64
_LAYOUT = struct.Struct(
    f"={_FUNCTIONS * _NAME_BYTES}sII{_MAX_DEPTH}s{_MAX_CHAINS * _MAX_DEPTH}s"
)


def _pieces(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def read(path):
    """The program's functions, and the set of chains that it had: tuples of names, leaf first."""
    names, count, _, _, chains = _LAYOUT.unpack(path.read_bytes())
    names = [name.rstrip(b"\0").decode() for name in _pieces(names, _NAME_BYTES)]
    assert count <= _MAX_CHAINS, "the program had more chains than its file holds"
    chains = [chain.split(b"\xff")[0] for chain in _pieces(chains, _MAX_DEPTH)[:count]]
    return names, {tuple(names[number] for number in reversed(chain)) for chain in chains}
