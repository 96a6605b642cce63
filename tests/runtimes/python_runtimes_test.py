# SPDX-License-Identifier: Apache-2.0
"""Stacks of Python are whole and true in many versions of it, and ways to run it: the checks of
tests/e2e/python_test.py.
"""
import pytest

import pythons
from python_test import (
    Interpreter,
    observe,
    observed,
    test_all_ways_are_gone,
    test_every_chain_is_seen,
    test_its_frames_have_names,
    test_its_stacks_are_true,
    test_its_stacks_are_whole,
)
from variants import asked_for

# Another way to run a version: its options, and variables of its environment.
VARIANTS = {
    "python-3.13 perf": ("python-3.13", ("-X", "perf"), ()),
    "python-3.12-pyenv perf": ("python-3.12-pyenv", ("-X", "perf"), ()),
    "python-3.15 isolated": ("python-3.15", ("-I", "-O"), ()),
}

pytestmark = [pytest.mark.runtimes, pytest.mark.parametrize("name", [*pythons.NAMES, *VARIANTS])]


def _interpreter(name):
    """None where it is not there."""
    version, options, variables = VARIANTS.get(name, (name, (), ()))
    path = pythons.find(version)
    if not path:
        return None
    folder = name.replace(" ", "-")
    return Interpreter(folder, path, pythons.minor_of(version), options, variables)


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    """By name, of those that are asked for and there."""
    names = asked_for(request, "name")
    interpreters = {name: found for name, in names if (found := _interpreter(name))}
    found = observe(
        list(interpreters.values()),
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("python"),
    )
    return {name: found[one.name] for name, one in interpreters.items()}


@pytest.fixture(autouse=True)
def needs_interpreter(name):
    pythons.path_of(VARIANTS.get(name, (name,))[0])  # or there is nothing to be tested
