# SPDX-License-Identifier: Apache-2.0
"""Stacks of Java threads are whole, true and named on HotSpot of many versions: the checks of
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
    test_its_methods_have_names_files_and_lines,
    test_its_stacks_are_true,
    test_its_stacks_are_whole,
    test_near_misses_are_not_among_its_stacks,
)

# Of those the classes are made as a compiler of Java 8 makes them.
OLD = ("jdk-8", "jdk-11")

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.parametrize("case", CASES, ids=lambda case: case.name),
    pytest.mark.parametrize("version", language_runtimes.names("jdk")),
]


@pytest.fixture(scope="module")
def jdks(tmp_path_factory):
    """By version, a folder with `bin/java`, of each that is there."""
    directory = tmp_path_factory.mktemp("jdks")
    found = {}
    for version in language_runtimes.names("jdk"):
        path = language_runtimes.find_runtime(version)
        if path:
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
    """classes(version): the folder with those of the program, by the JDK of this machine."""
    file = source / f"tests/targets/{MAIN}.java"
    # Those of Java 8 name a method that it has not, which nobody calls there.
    flags = {"new": ("--release", "17"), "old": ("-source", "8", "-target", "8", "-nowarn")}
    directories = {}
    for name in flags:
        directories[name] = tmp_path_factory.mktemp(name)
        command = ["javac", *flags[name], "-d", directories[name], file]
        subprocess.run(command, check=True, timeout=120)
    return lambda version: directories["old" if version in OLD else "new"]


@pytest.fixture
def observed(version, case, runtime, request):
    """The Observed of this test."""
    runtime(version)  # or there is nothing to be tested
    return request.getfixturevalue("seen")[version, case.name]
