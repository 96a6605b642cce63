# SPDX-License-Identifier: Apache-2.0
"""The versions of CPython to test with: those of tests/runtimes/table, and what pyenv has built,
with all its symbols, on a machine that has it.
"""
import os
import pathlib

import pytest

import language_runtimes

_PYENV_MINORS = (6, 7, 8, 9, 10, 11, 12, 13)

NAMES = [
    *language_runtimes.names("python"),
    *(f"python-3.{minor}-pyenv" for minor in _PYENV_MINORS),
]


def minor_of(name):
    """14 of `python-3.14-shared`."""
    return int(name.split("-")[1].partition(".")[2])


def _find_pyenv(minor):
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    paths = sorted((root / "versions").glob(f"3.{minor}.*/bin/python3.{minor}"))
    return paths[-1] if paths else None


def find(name):
    """The path of the interpreter, or None."""
    if name.endswith("-pyenv"):
        return _find_pyenv(minor_of(name))
    return language_runtimes.find_runtime(name)


def path_of(name):
    """The same; without it the test is skipped, and says why."""
    path = find(name)
    if not path and name.endswith("-pyenv"):
        pytest.skip(f"pyenv has no Python 3.{minor_of(name)}")
    return path or language_runtimes.runtime_path(name)
