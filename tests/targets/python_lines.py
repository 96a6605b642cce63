# SPDX-License-Identifier: Apache-2.0
"""Which line each instruction of this interpreter's library has, by the interpreter's own account.

Writes to the standard output, for each code object of the files in the library's folder, what
tests/unit/ebpf/runtimes/cpython_lines_tool.c reads. Runs on Python 3.6 and later. Argument: of how
many files one is read (1: all).
"""
import dis
import os
import struct
import sys
import sysconfig
import types
import warnings

MINOR = sys.version_info[1]


def lines_of(code):
    """The line of each two bytes of `code`; 0: none."""
    units = len(code.co_code) // 2
    lines = [0] * units
    if MINOR >= 10:
        for start, end, line in code.co_lines():
            for unit in range(start // 2, end // 2):
                lines[unit] = line or 0
        return lines
    starts = [(0, code.co_firstlineno), *dis.findlinestarts(code)]
    ends = [start for start, _ in starts[1:]] + [2 * units]
    for (start, line), end in zip(starts, ends):
        for unit in range(start // 2, end // 2):
            lines[unit] = line
    return lines


def write(code):
    table = code.co_linetable if MINOR >= 10 else code.co_lnotab
    lines = lines_of(code)
    head = struct.pack("=IIII", MINOR, code.co_firstlineno, len(table), len(lines))
    sys.stdout.buffer.write(head + table + struct.pack("=%dI" % len(lines), *lines))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            write(constant)


def files(directory):
    for where, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(where, name)


def main(one_of):
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10000)
    for number, path in enumerate(files(sysconfig.get_paths()["stdlib"])):
        if number % one_of:
            continue
        with open(path, "rb") as file:
            source = file.read()
        try:
            code = compile(source, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # some are there to be refused
        write(code)


main(int(sys.argv[1]))
