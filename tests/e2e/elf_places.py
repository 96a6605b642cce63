# SPDX-License-Identifier: Apache-2.0
"""Which function of a 64-bit ELF file lies at an address, by its symbol table."""
import bisect
import re
import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_EXECUTABLE = 4  # SHF_EXECINSTR
_SYMBOL_TABLE = 2  # SHT_SYMTAB
_CODE_TYPES = {0, 2, 10}  # none, as assembly has it, function, indirect function

# What compilers append to the name of a function when they take it apart.
_PART = re.compile(r"\.(cold|part|constprop|isra|specialized|llvm)(\.\d+)*$")

PLT = "<plt>"


def _text(data, at):
    return data[at : data.index(b"\0", at)].decode(errors="replace")


class Places:
    """The functions of the file at `path`, which has its symbols; `preferred` names win over
    others of the same code.
    """

    def __init__(self, path, preferred=()):
        data = path.read_bytes()
        sections = self._sections(data)
        self._plts = [
            (address, address + size)
            for name, _, flags, address, _, size, *_ in sections
            if flags & _EXECUTABLE and re.match(r"\.i?plt", name)
        ]
        functions = {}  # start to (rank, name, limit)
        for name, start, size, section in self._symbols(data, sections):
            _, _, flags, address, _, length, *_ = sections[section]
            if not flags & _EXECUTABLE:
                continue
            name = _PART.sub("", name)
            rank = (name in preferred, size > 0)
            found = (rank, name, start + size if size else address + length)
            functions[start] = max(functions.get(start, found), found)
        self._functions = sorted((start, *found[1:]) for start, found in functions.items())
        self._starts = [start for start, *_ in self._functions]

    @staticmethod
    def _sections(data):
        (_, _, _, _, _, _, offset, _, _, _, _, size, count, names) = _HEADER.unpack_from(data)
        raw = [_SECTION.unpack_from(data, offset + number * size) for number in range(count)]
        text = raw[names][4]
        return [(_text(data, text + section[0]), *section[1:]) for section in raw]

    @staticmethod
    def _symbols(data, sections):
        """(name, address, size, section) of each symbol that may be code."""
        for _, kind, _, _, offset, size, link, *_ in sections:
            if kind != _SYMBOL_TABLE:
                continue
            for at in range(offset, offset + size, _SYMBOL.size):
                name, info, _, section, address, length = _SYMBOL.unpack_from(data, at)
                if info & 15 not in _CODE_TYPES or not 0 < section < len(sections):
                    continue
                text = _text(data, sections[link][4] + name)
                # On arm64 "$x" and "$d" say where code and data begin.
                if not text.startswith("$"):
                    yield text, address, length, section

    def name_at(self, address):
        """The name of a function, PLT, or None."""
        if any(start <= address < limit for start, limit in self._plts):
            return PLT
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        _, name, limit = self._functions[at]
        return name if address < limit else None
