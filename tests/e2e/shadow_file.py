# SPDX-License-Identifier: Apache-2.0
"""Reads what programs with a shadow stack write (`struct shadow` in tests/targets/shadow.h)."""
import dataclasses
import struct

_HEAD = struct.Struct("=IIII")
_NAMES, _NAME_BYTES = 64, 32
_SLOT = struct.Struct("=II")


@dataclasses.dataclass(frozen=True)
class Shadow:
    functions: tuple  # of the program, named as its symbols are
    chains: tuple  # that it had, each a tuple of names, leaf first


def _slot_chains(data, at, chains, depth):
    """The chains of one slot: the ids of each, root first."""
    _, count = _SLOT.unpack_from(data, at)
    assert count <= chains, "the program had more chains than its file holds"
    at += _SLOT.size + depth
    for number in range(count):
        yield data[at + number * depth : at + (number + 1) * depth].split(b"\xff")[0]


def read(path):
    """The Shadow that the program has written to `path` so far."""
    data = path.read_bytes()
    slots, chains, depth, _ = _HEAD.unpack_from(data)
    names = data[_HEAD.size : _HEAD.size + _NAMES * _NAME_BYTES]
    names = [names[at : at + _NAME_BYTES] for at in range(0, len(names), _NAME_BYTES)]
    names = tuple(name.rstrip(b"\0").decode() for name in names if name[0])
    found = {}  # a set that keeps its order
    for slot in range(slots):
        at = _HEAD.size + _NAMES * _NAME_BYTES + slot * (_SLOT.size + depth + chains * depth)
        for ids in _slot_chains(data, at, chains, depth):
            found[tuple(names[number] for number in reversed(ids))] = True
    return Shadow(names, tuple(found))
