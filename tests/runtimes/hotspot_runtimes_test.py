# SPDX-License-Identifier: Apache-2.0
"""Stacks of Java threads are whole and true on HotSpot of many versions: the checks of
tests/e2e/hotspot_test.py.
"""
import subprocess

import pytest

import language_runtimes
from hotspot_test import (
    CASES,
    MAIN,
    seen,
    start_java,
    test_every_leaf_is_seen,
    test_its_code_is_run_as_the_case_says,
    test_its_stacks_are_true,
    test_its_stacks_are_whole,
    test_near_misses_are_not_among_its_stacks,
)

# Those that are not judged, and why.
LEFT_OUT = {
    "jdk-8": "before JDK 9 there is no list of heaps: stacks end at Java's code, as documented",
    "jdk-11": "before JDK 17 a JVM does not say where its code lies (Compiler.perfmap)",
}
VERSIONS = [
    pytest.param(name, marks=[pytest.mark.skip(LEFT_OUT[name])] if name in LEFT_OUT else [])
    for name in language_runtimes.names("jdk")
]

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.parametrize("case", CASES, ids=lambda case: case.name),
    pytest.mark.parametrize("version", VERSIONS),
]


@pytest.fixture(scope="module")
def jdks(tmp_path_factory):
    """By version, a folder with `bin/java`, of each that is there."""
    directory = tmp_path_factory.mktemp("jdks")
    found = {}
    for version in language_runtimes.names("jdk"):
        path = language_runtimes.find_runtime(version)
        if path and version not in LEFT_OUT:
            found[version] = directory / version
            (found[version] / "bin").mkdir(parents=True)
            (found[version] / "bin/java").symlink_to(path)
    return found


@pytest.fixture(scope="module")
def executables():
    """As `select` knows the JVMs, some of which have a root of their own."""
    return {"regexes": ["/bin/java$"]}


@pytest.fixture(scope="module")
def classes(source, tmp_path_factory):
    """Of the program, by the JDK of this machine, for the oldest version that is judged."""
    directory = tmp_path_factory.mktemp("classes")
    file = source / f"tests/targets/{MAIN}.java"
    subprocess.run(["javac", "--release", "17", "-d", directory, file], check=True, timeout=120)
    return directory


@pytest.fixture
def observed(version, case, runtime, request):
    """The Observed of this test."""
    runtime(version)  # or there is nothing to be tested
    return request.getfixturevalue("seen")[version, case.name]
