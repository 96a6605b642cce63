# SPDX-License-Identifier: Apache-2.0
"""Every language runtime of the table runs a program that lies in /tmp."""
import subprocess

import pytest

import language_runtimes

_PYTHON = "print('hello')\n"
_NODE = "console.log('hello')\n"
_WASMTIME = "import wasmtime\nwasmtime.Engine()\nprint('hello')\n"
_DOTNET = "import clr_loader\nimport pythonnet\nprint('hello')\n"
_JPYPE = "import jpype\njpype.startJVM()\njpype.java.lang.System.out.println('hello')\n"
_GO = 'package main\n\nfunc main() {\n\tprint("hello\\n")\n}\n'
_JAVA = """\
class Hello {
	public static void main(String[] arguments) {
		System.out.println("hello");
	}
}
"""

pytestmark = pytest.mark.runtimes

# By language: the file, what is in it, and what the program is given before its path.
HELLO = {
    "python": ("hello.py", _PYTHON, []),
    "wasmtime": ("hello.py", _WASMTIME, []),
    "dotnet": ("hello.py", _DOTNET, []),
    "beam": ("none", "", ["-noshell", "-eval", 'io:format("hello~n"), halt().', "-extra"]),
    "jpype": ("hello.py", _JPYPE, []),
    "node": ("hello.js", _NODE, []),
    "go": ("hello.go", _GO, ["run"]),
    "jdk": ("Hello.java", _JAVA, ["-cp"]),
}


def _compile_java(path):
    """The folder of the classes, for all versions from 8 on."""
    command = ["javac", "--release", "8", "-nowarn", path]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return path.parent


@pytest.mark.parametrize("name", language_runtimes.names())
def test_it_runs_a_program(name, runtime, tmp_path):
    path = runtime(name)
    file, text, before = HELLO[name.partition("-")[0]]
    place = tmp_path / file
    place.write_text(text)
    arguments = [_compile_java(place), "Hello"] if file.endswith(".java") else [place]
    command = [path, *before, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout + result.stderr) == (0, "hello\n")
