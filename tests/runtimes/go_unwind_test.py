# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs that Go built, from its version 1.16 on, against those that the programs know
they had: the checks of tests/e2e/unwind_truth_test.py.
"""
import concurrent.futures
import dataclasses
import os

import pytest

import language_runtimes
import unwind_targets
from unwind_truth_test import (
    Built,
    seen,
    target,
    test_every_chain_is_seen,
    test_its_stacks_are_true,
    test_near_misses_are_not_among_its_chains,
    told,
)
from variants import asked_for

VERSIONS = language_runtimes.names("go")
# Those of unwind_targets.py that are built by each version.
TARGETS = {one.name: one for one in unwind_targets.TARGETS if one.command[0] == "go"}

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.parametrize("kind", TARGETS),
    pytest.mark.parametrize("version", VERSIONS),
]


def _target(version, kind, go):
    """That of TARGETS, by another Go."""
    command = (str(go), *TARGETS[kind].command[1:])
    return dataclasses.replace(TARGETS[kind], name=f"{version}_{kind}", command=command)


@pytest.fixture
def name(version, kind, runtime):
    runtime(version)  # or there is nothing to be tested
    return f"{version}_{kind}"


@pytest.fixture(scope="module")
def built(source, request, tmp_path_factory):
    """Name to Built, by each Go that is asked for and there."""
    directory = tmp_path_factory.mktemp("go")
    wanted = [
        _target(version, kind, go)
        for version, kind in sorted(asked_for(request, "version", "kind"))
        if (go := language_runtimes.find_runtime(version))
    ]
    if not wanted:
        pytest.skip("none of these versions of Go is there; run: scripts/runtimes.sh go")

    def build_one(target):
        built = unwind_targets.build(target, source / "tests/targets", directory)
        return target.name, Built(target, *built)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(build_one, wanted))
