# SPDX-License-Identifier: Apache-2.0
"""Another value for a constant of a BPF object file, which programs are verified with: what one
switches off is not looked at."""
import struct

_HEADER_SECTIONS, _HEADER_COUNT = 40, 60  # where in the ELF header
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2


def _sections(data):
    (at,) = struct.unpack_from("<Q", data, _HEADER_SECTIONS)
    (count,) = struct.unpack_from("<H", data, _HEADER_COUNT)
    return [_SECTION.unpack_from(data, at + _SECTION.size * number) for number in range(count)]


def with_constant(data, name, value):
    """The bytes of the object file `data` with a 32-bit constant changed."""
    data = bytearray(data)
    sections = _sections(data)
    (table,) = (section for section in sections if section[1] == _SYMBOL_TABLE)
    names = sections[table[6]][4]
    for at in range(table[4], table[4] + table[5], _SYMBOL.size):
        name_at, _, _, section, address, size = _SYMBOL.unpack_from(data, at)
        text = data[names + name_at : data.index(0, names + name_at)].decode()
        if text == name:
            assert size == 4, f"{name} has {size} bytes"
            struct.pack_into("<I", data, sections[section][4] + address, value)
            return bytes(data)
    raise AssertionError(f"no constant {name}")
