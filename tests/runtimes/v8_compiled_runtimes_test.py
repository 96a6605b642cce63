# SPDX-License-Identifier: Apache-2.0
"""Regular expressions and functions of WebAssembly have names in many versions of Node.js: the checks
of tests/e2e/v8_compiled_test.py."""
import pytest

import language_runtimes
from v8_compiled_test import (
    Program,
    observe_compiled,
    observed,
    test_all_that_it_runs_is_seen,
    test_what_it_runs_has_a_name,
    test_what_it_runs_has_its_own_name,
)
from variants import asked_for

NAMES = language_runtimes.names("node")
# Its structures lie elsewhere than those of other builds of that version.
_WITHOUT_WASM = ("node-12-debian",)

pytestmark = [pytest.mark.runtimes, pytest.mark.parametrize("name", NAMES)]


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    """By name, of those that are asked for and there."""
    programs = [
        Program(name, path, has_wasm=name not in _WITHOUT_WASM)
        for name, in asked_for(request, "name")
        if (path := language_runtimes.find_runtime(name))
    ]
    return observe_compiled(
        programs, source, start_profcol_once, start_target_once, tmp_path_factory.mktemp("v8")
    )


@pytest.fixture(autouse=True)
def needs_runtime(name):
    language_runtimes.runtime_path(name)  # or there is nothing to be tested
