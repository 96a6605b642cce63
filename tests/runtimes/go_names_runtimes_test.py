# SPDX-License-Identifier: Apache-2.0
"""Functions, files and lines of Go from its version 1.16 on: the checks of
tests/e2e/go_names_test.py.
"""
import concurrent.futures
import os
import shutil

import pytest

import go_names_test
import language_runtimes
from variants import asked_for

VERSIONS = language_runtimes.names("go")
CASES = {case.name: case for case in go_names_test.CASES}

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.parametrize("kind", CASES),
    pytest.mark.parametrize("version", VERSIONS),
]


def is_possible(case):
    return not case.has_c or shutil.which("gcc")


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    """Name to Observed, by each Go that is asked for and there."""
    directory = tmp_path_factory.mktemp("go_names")
    asked = sorted(asked_for(request, "version", "kind"))
    wanted = [
        (version, CASES[kind], go)
        for version, kind in asked
        if is_possible(CASES[kind]) and (go := language_runtimes.find_runtime(version))
    ]

    def build_one(one):
        version, case, go = one
        name = f"{version}_{case.name}"
        return name, go_names_test.build(go, case, source, directory, name)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = dict(pool.map(build_one, wanted))
    return go_names_test.observe(programs, start_profcol_once, start_target_once, directory)


def test_chains_are_those_of_the_runtime(version, kind, runtime, seen):
    runtime(version)  # or there is nothing to be tested
    if not is_possible(CASES[kind]):
        pytest.skip("gcc is not installed")
    go_names_test.check(seen[f"{version}_{kind}"])
