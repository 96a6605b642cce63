# SPDX-License-Identifier: Apache-2.0
"""Which language runtimes tests/runtimes/table has, and where they lie: scripts/runtimes.sh makes
them.
"""
import functools
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
_SCRIPT = SOURCE / "scripts/runtimes.sh"
_NAME = re.compile(r"^[a-z]\S*", re.MULTILINE)


def names(language=""):
    """Those of a language, in the order of the table: names("go") has "go-1.16"."""
    found = _NAME.findall((SOURCE / "tests/runtimes/table").read_text())
    return [name for name in found if not language or name.startswith(f"{language}-")]


@functools.cache
def _ask_path(name):
    return subprocess.run([_SCRIPT, "--path", name], capture_output=True, text=True)


def find_runtime(name):
    """The path of a program that is started like the runtime's own, or None.

    It becomes the runtime's program, under the same process id. One of Debian's runs in a root of
    its own, where /tmp is the machine's.
    """
    answer = _ask_path(name)
    return None if answer.returncode else pathlib.Path(answer.stdout.strip())


def runtime_path(name):
    """The same; without it the test is skipped, and says what to run."""
    path = find_runtime(name)
    if not path:
        pytest.skip(_ask_path(name).stderr.strip())
    return path
