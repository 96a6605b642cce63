# SPDX-License-Identifier: Apache-2.0
"""Stacks of Python within other programs are whole and true, as those of an interpreter are
(python_test.py): of one that loads the library when it has run for a while, and calls it from a
thread of its own, and of gdb. Both are there at a time, beside the interpreter of the same version.
"""
import ctypes.util
import shlex
import shutil
import subprocess

import pytest

from python_test import (
    MACHINE,
    Interpreter,
    observe,
    observed,
    test_all_ways_are_gone,
    test_every_chain_is_seen,
    test_its_frames_have_names,
    test_its_stacks_are_true,
    test_its_stacks_are_whole,
)
from variants import asked_for, variants

# Signals are for the thread that has begun Python alone, and forks for programs with one thread.
WAYS = (
    "plain,sort,in_library,sqlite,methods,generators,asynchronous,tasks,recursion,through_c,"
    "threads,executed,comprehensions,decorators,exceptions,collected"
)
EXECUTE = "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))"
GDB = f"""\
#!/bin/sh
exec gdb -batch -nx -ex "python import sys; sys.argv = ['$1', '$2', '$3']; {EXECUTE}"
"""

pytestmark = pytest.mark.parametrize(
    "name", variants(["program", "gdb"], ["interpreter"], "program")
)


def _write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def _make_program(source, folder):
    library = ctypes.util.find_library("python3.11")
    if not library:
        return None
    program = folder / "python_host"
    code = source / "tests/targets/python_host.c"
    subprocess.run(["gcc", "-O2", code, "-o", program, "-ldl", "-lpthread"], check=True)
    script = f'#!/bin/sh\nexec {shlex.quote(str(program))} {library} "$@"\n'
    return _write_script(folder / "program.sh", script)


def _links_python():
    """Does gdb use the library of that version?"""
    gdb = shutil.which("gdb")
    if not gdb:
        return False
    listing = subprocess.run(["ldd", gdb], capture_output=True, text=True).stdout
    return "libpython3.11.so" in listing


@pytest.fixture(scope="module")
def paths(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedded")
    return {
        "program": _make_program(source, folder),
        "gdb": _write_script(folder / "gdb.sh", GDB) if _links_python() else None,
        "interpreter": MACHINE if MACHINE.exists() else None,
    }


@pytest.fixture(scope="module")
def seen(request, paths, source, start_profcol_once, start_target_once, tmp_path_factory):
    interpreters = [
        Interpreter(name, paths[name], 11, ways=WAYS)
        for name, in asked_for(request, "name")
        if paths[name]
    ]
    directory = tmp_path_factory.mktemp("python")
    return observe(interpreters, source, start_profcol_once, start_target_once, directory)


@pytest.fixture(autouse=True)
def needs_program(name, paths):
    if not paths[name]:
        pytest.skip(f"no Python 3.11 in '{name}' here; packages: libpython3.11 gdb")
