# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of what is deployed: image, privileges, packages."""
import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))

from profcol_run import Profcol, with_patience
from target_run import Target


@pytest.fixture(autouse=True, scope="session")
def root():
    if os.geteuid() != 0:
        pytest.exit("these tests load BPF programs and need root", returncode=1)


@pytest.fixture(scope="module")
def stack():
    """What ends with the module."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def start_profcol(program, stack, tmp_path_factory):
    """start_profcol(configuration, directory=None, prefix=(), arguments=(), program=...): a
    Profcol, killed in the end.
    """

    def start(configuration, directory=None, prefix=(), arguments=(), program=program):
        directory = directory or tmp_path_factory.mktemp("run")
        run = Profcol(program, directory, with_patience(configuration), prefix, arguments)
        stack.callback(run.kill)
        return run

    return start


@pytest.fixture(scope="module")
def start_target(stack):
    """start_target(*command, **options): a Target, killed in the end."""

    def start(*command, **options):
        target = Target(*command, **options)
        stack.callback(target.kill)
        return target

    return start


@pytest.fixture(scope="session")
def burn(source, tmp_path_factory):
    """A program that burns CPU; tests/targets/burn.c."""
    path = tmp_path_factory.mktemp("targets") / "burn"
    flags = ["-g", "-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
    subprocess.run(["gcc", *flags, source / "tests/targets/burn.c", "-o", path], check=True)
    return path


@pytest.fixture(scope="session")
def image(source, program, tmp_path_factory):
    """The file tree of the container image, with the program under test."""
    directory = tmp_path_factory.mktemp("image") / "tree"
    subprocess.run([source / "scripts/image.sh", program, directory], check=True)
    return directory
