# SPDX-License-Identifier: Apache-2.0
"""Labels of goroutines from Go 1.13 on: the checks of tests/e2e/go_labels_test.py."""
import concurrent.futures
import dataclasses
import os
import shutil

import pytest

import go_labels_test
import language_runtimes
from variants import asked_for

# Before Go 1.16 functions have names by the symbol table alone.
OLDER = language_runtimes.names("older-go")
VERSIONS = OLDER + language_runtimes.names("go")
CASES = {case.name: case for case in go_labels_test.CASES}

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.parametrize("kind", CASES),
    pytest.mark.parametrize("version", VERSIONS),
]


def case_of(version, kind):
    # From C to Go's frames leads the function table.
    return dataclasses.replace(CASES[kind], tells_in_c=version not in OLDER)


def why_not(version, case):
    """Why that cannot be tested; None: it can."""
    if case.has_c and not shutil.which("gcc"):
        return "gcc is not installed"
    if version in OLDER and "stripped" in case.name:
        return "its functions have no names"
    return None


@pytest.fixture(scope="module")
def seen(request, source, start_profcol_once, start_target_once, tmp_path_factory):
    """Name to Observed, by each Go that is asked for and there."""
    directory = tmp_path_factory.mktemp("go_labels")
    asked = sorted(asked_for(request, "version", "kind"))
    wanted = [
        (version, case_of(version, kind), go)
        for version, kind in asked
        if not why_not(version, CASES[kind]) and (go := language_runtimes.find_runtime(version))
    ]
    cases = {f"{version}_{case.name}": case for version, case, _ in wanted}

    def build_one(one):
        version, case, go = one
        name = f"{version}_{case.name}"
        return name, go_labels_test.build(go, case, source, directory, name)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = dict(pool.map(build_one, wanted))
    return go_labels_test.observe(
        programs, cases, start_profcol_once, start_target_once, directory
    )


def test_labels_are_those_of_the_moment(version, kind, runtime, seen):
    runtime(version)  # or there is nothing to be tested
    reason = why_not(version, CASES[kind])
    if reason:
        pytest.skip(reason)
    go_labels_test.check(seen[f"{version}_{kind}"], case_of(version, kind))
