# SPDX-License-Identifier: Apache-2.0
"""ELF files made to cost their reader much: a program that runs, with sections that no compiler
writes.
"""
import struct

SECTION = "<IIQQQQIIQQ"
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
SYMBOL_BYTES = 24
FUNCTION = 0x12  # global
NAME_BYTES = 1500


def _with_sections(data, sections, at):
    """`data` whose sections are these, after the empty one, and whose table lies `at`."""
    struct.pack_into("<Q", data, 40, at)
    struct.pack_into("<HHH", data, 58, 64, 1 + len(sections), 0)
    return bytes(64) + b"".join(struct.pack(SECTION, *section) for section in sections)


def _symbols_at(data):
    return (len(data) + 7) & ~7


def _entry(data):
    (entry,) = struct.unpack_from("<Q", data, 24)
    return entry


def _with_symbols(program, symbols, name_bytes):
    """`program`'s bytes with that table of symbols, whose names have so many bytes behind it; where
    these begin, and what follows them."""
    data = bytearray(program)
    symbols_at = _symbols_at(data)
    names_at = (symbols_at + len(symbols) + 4095) & ~4095
    sections = [
        (0, PROGBITS, 6, _entry(data), 0x1000, 0x1000, 0, 0, 16, 0),
        (0, SYMTAB, 0, 0, symbols_at, len(symbols), 3, 0, 8, SYMBOL_BYTES),
        (0, STRTAB, 0, 0, names_at, name_bytes, 0, 0, 1, 0),
    ]
    table = _with_sections(data, sections, names_at + name_bytes)
    data += bytes(symbols_at - len(data)) + symbols
    return bytes(data), names_at, table


def with_hole(program, hole_bytes):
    """`program` (bytes) with a symbol table whose names lie all over a hole: its bytes, where the
    rest lies behind the hole, and that rest."""
    entry = _entry(program)
    symbols = b"".join(
        struct.pack("<IBBHQQ", number * 4096 + 1, FUNCTION, 0, 1, entry, 0)
        for number in range(hole_bytes // 4096)
    )
    data, names_at, table = _with_symbols(program, symbols, hole_bytes)
    return data, names_at + hole_bytes, table


def with_aliases(program, count):
    """`program` (bytes) whose entry has `count` names, each of which takes long to read."""
    entry = _entry(program)
    symbols = struct.pack("<IBBHQQ", 1, FUNCTION, 0, 1, entry, 16) * count
    names = b"\0" + b"_Z" + b"_" * NAME_BYTES + b"x\0"
    data, names_at, table = _with_symbols(program, symbols, len(names))
    return data + bytes(names_at - len(data)) + names + table


def with_frames(program, count):
    """`program` (bytes) with an .eh_frame whose `count` entries are all of the same code."""
    data = bytearray(program)
    entry = _entry(data)
    # Version 1, "", code factor 1, data factor -8, the return address in 16, CFA = rsp + 8.
    cie = struct.pack("<II", 20, 0) + b"\x01\0\x01\x78\x10\x0c\x07\x08" + bytes(8)
    rows = b"".join(bytes((0x41, 0x0e, 8 * (1 + number % 9))) for number in range(40))
    fde = struct.pack("<QQ", entry, 4096) + rows + bytes(-len(rows) % 8)
    at = _symbols_at(data)
    frames = bytearray(cie)
    for _ in range(count):
        frames += struct.pack("<II", len(fde) + 4, len(frames) + 4) + fde
    frames += bytes(4)
    names = b"\0.eh_frame\0"
    names_at = at + len(frames)
    sections_at = (names_at + len(names) + 7) & ~7
    sections = [
        (1, PROGBITS, 2, 0, at, len(frames), 0, 0, 8, 0),
        (0, STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    table = _with_sections(data, sections, sections_at)
    struct.pack_into("<H", data, 62, 2)
    data += bytes(at - len(data)) + frames + names
    return bytes(data) + bytes(sections_at - len(data)) + table
