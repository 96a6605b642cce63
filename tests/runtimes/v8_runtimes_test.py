# SPDX-License-Identifier: Apache-2.0
"""Stacks of Node.js are whole and true in many versions of it: the checks of tests/e2e/v8_test.py."""
import pytest

import language_runtimes
from v8_test import (
    Program,
    observe,
    observed,
    test_every_chain_is_seen,
    test_its_frames_have_names,
    test_its_functions_are_true,
    test_its_lines_are_true,
    test_its_stacks_are_whole,
)
from variants import asked_for

NAMES = language_runtimes.names("node")
# Those without methods that are private.
_OLDEST = ("node-12", "node-13")

pytestmark = [pytest.mark.runtimes, pytest.mark.parametrize("name", NAMES)]


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    """By name, of those that are asked for and there."""
    programs = [
        Program(name, path, has_private_methods=not name.startswith(_OLDEST))
        for name, in asked_for(request, "name")
        if (path := language_runtimes.find_runtime(name))
    ]
    return observe(
        programs,
        source,
        start_profcol_once,
        start_target_once,
        tmp_path_factory.mktemp("v8"),
    )


@pytest.fixture(autouse=True)
def needs_runtime(name):
    language_runtimes.runtime_path(name)  # or there is nothing to be tested
