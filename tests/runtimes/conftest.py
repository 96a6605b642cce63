# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests over many versions of language runtimes, which run when asked for only."""
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))

from language_runtimes import runtime_path
from profcol_run import Profcol
from starting import starter
from target_run import Target


@pytest.fixture(scope="session")
def runtime():
    """runtime(name): the path of a program of tests/runtimes/table; see runtime_path()."""
    return runtime_path


def _profcols(program, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    return starter(lambda configuration: Profcol(program, directory, configuration))


@pytest.fixture
def start_profcol(program, tmp_path_factory):
    """start_profcol(configuration): a Profcol, killed at the end of the test."""
    with _profcols(program, tmp_path_factory) as start_one:
        yield start_one


@pytest.fixture(scope="module")
def start_profcol_once(program, tmp_path_factory):
    """start_profcol() for fixtures of a module."""
    with _profcols(program, tmp_path_factory) as start_one:
        yield start_one


@pytest.fixture
def start_target():
    """start_target(*command, **options): a Target, killed at the end of the test."""
    with starter(Target) as start_one:
        yield start_one


@pytest.fixture(scope="module")
def start_target_once():
    """start_target() for fixtures of a module."""
    with starter(Target) as start_one:
        yield start_one
