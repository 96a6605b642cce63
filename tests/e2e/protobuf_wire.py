# SPDX-License-Identifier: Apache-2.0
"""Takes protobuf messages apart without knowing their schema."""
import collections
import struct

_FIXED_64 = 1


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """(number, value) of each field; the value is an int, or bytes where it has a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (_FIXED_64, 2):
            length, at = (8, at) if wire == _FIXED_64 else _varint(data, at)
            value = data[at : at + length]
            assert len(value) == length, "a field reaches beyond its message"
            at += length
            if wire == _FIXED_64:
                (value,) = struct.unpack("<Q", value)
        else:
            raise AssertionError(f"wire type {wire} is none that profiles use")
        yield number, value


def fields_of(data):
    """All values of each field number of a message."""
    fields = collections.defaultdict(list)
    for number, value in _fields(data):
        fields[number].append(value)
    return fields


def one(fields, number, default=0):
    """The value of a field that is not repeated."""
    return fields[number][-1] if fields[number] else default


def signed(value):
    """An int64 of what is read as uint64."""
    return value - (1 << 64) if value >= 1 << 63 else value


def integers(values):
    """A repeated field of varints, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            out.append(number)
    return out


def fixed_64(values):
    """A repeated field of 8-byte integers, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
        else:
            out.extend(struct.unpack(f"<{len(value) // 8}Q", value))
    return out
