# SPDX-License-Identifier: Apache-2.0
"""The lines of Python's instructions are those that the interpreter says they have: every one of
its library's.
"""
import pathlib
import re
import subprocess

import pytest

MACHINE = pathlib.Path("/usr/bin/python3")

# Where the tool may have been built; the program under test is often from another build.
_TOOL = "tests/unit/ebpf/cpython_lines_tool"


@pytest.fixture(scope="module")
def tool(program, source):
    builds = [program.parent, source / "build/dev", source / "build/clang"]
    paths = [build / _TOOL for build in builds if (build / _TOOL).exists()]
    how = "cmake --build --preset dev --target cpython_lines_tool"
    assert paths, f"{_TOOL} is not built; run: {how}"
    return paths[0]


@pytest.fixture(scope="module")
def generator(source, tmp_path_factory):
    """The path of the program that reads the library; it is the same in any interpreter's root."""
    path = tmp_path_factory.mktemp("generator") / "python_lines.py"
    path.write_text((source / "tests/targets/python_lines.py").read_text())
    return path


def check_lines(tool, interpreter, generator):
    with subprocess.Popen([interpreter, generator, "1"], stdout=subprocess.PIPE) as library:
        checked = subprocess.run([tool], stdin=library.stdout, capture_output=True, text=True)
        library.stdout.close()
    assert library.returncode == 0
    print(checked.stdout)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    objects, instructions, wrong = map(int, re.findall(r"\w=(\d+)", checked.stdout))
    assert wrong == 0 and objects > 5000 and instructions > 20 * objects


def test_lines_of_the_machines_python_are_the_interpreters(tool, generator):
    check_lines(tool, MACHINE, generator)
