# SPDX-License-Identifier: Apache-2.0
"""A mixed load that keeps every CPU busy: native code, an interpreter, compilers that come and
go, and a pipe through the kernel."""
import contextlib
import os
import pathlib
import signal
import subprocess

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"

_PYTHON = """
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
while True:
    fibonacci(20)
"""
_COMPILED = """
#include <algorithm>
#include <map>
#include <string>
std::map<std::string, int> m;
"""


def _commands(directory):
    burn = directory / "burn"
    subprocess.run(
        ["gcc", "-O2", "-fno-omit-frame-pointer", TARGETS / "burn.c", "-o", burn], check=True
    )
    source = directory / "compiled.cc"
    source.write_text(_COMPILED)
    compile_one = f"g++ -O2 -c {source} -o {directory}/compiled.o"
    return [
        [burn],
        ["/usr/bin/python3", "-c", _PYTHON],
        ["sh", "-c", f"while :; do {compile_one}; done"],
        ["sh", "-c", "while :; do head -c 50M /dev/urandom | gzip >/dev/null; done"],
    ]


@contextlib.contextmanager
def running(directory):
    """Keep the machine busy for the time of a `with` statement."""
    processes = []
    try:
        for _ in range((os.cpu_count() + 1) // 2):
            for command in _commands(directory):
                # A group of its own, so that what a shell started can be ended with it.
                processes.append(subprocess.Popen(command, start_new_session=True))
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
