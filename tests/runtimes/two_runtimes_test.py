# SPDX-License-Identifier: Apache-2.0
"""Stacks of one process lead through two runtimes, from Python to Java and back to Python (JPype)."""
import shutil
import subprocess

import pytest

from decided import Share, assert_rare
from language_runtimes import runtime_path
from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

BROKEN = Share(fine=0.02, fault=0.1)
ROUND_MS = 1000
ROUNDS = 15
# From the leaf to the root: what has to be on each stack with the first one.
CHAINS = (
    ("Hot.innermost", "Hot.middle", "in_java", "<module>"),
    ("compute", "Function.applyAsInt", "Hot.back", "in_python", "<module>"),
)

pytestmark = pytest.mark.runtimes


def _chain(sample):
    """That of the sample; None outside of both."""
    names = [name or "" for name in sample.names]
    return next((chain for chain in CHAINS if chain[0] in names), None)


def _is_true(sample, chain):
    """Are all of the chain there, in its order, and is the stack whole?"""
    names = iter(name or "" for name in sample.names)
    return not sample.mark and all(function in names for function in chain)


def test_its_stacks_lead_through_both(
    source, start_profcol_once, start_target_once, tmp_path
):
    path = runtime_path("jpype-1.7")
    if not shutil.which("javac"):
        pytest.skip("needs a JDK: apt-get install openjdk-17-jdk-headless")
    folder = tmp_path / "made_names"
    shutil.copytree(source / "tests/targets/made_names", folder)
    subprocess.run(["javac", "Hot.java"], cwd=folder, check=True, timeout=120)
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    receiver = {"samples_per_second": 499}
    start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    target = start_target_once(path, "hot_jpype.py", folder, cwd=folder)
    samples = Samples(tmp_path / "out")

    def new_samples(known=0):
        return [sample for sample in samples.of(target.pid)[known:] if _chain(sample)]

    def is_met(chain):
        assert target.process.poll() is None, "it has ended"
        return any(_is_true(sample, chain) for sample in new_samples())

    for chain in CHAINS:
        wait_until(lambda: is_met(chain), f"a stack with {chain}", step_s=0.5)
    samples.wait_latest()
    known = len(samples.of(target.pid))

    def rounds():
        for _ in range(ROUNDS):
            target.wait_burnt(ROUND_MS)
            samples.wait_latest()
            of_chains = new_samples(known)
            broken = [s for s in of_chains if not _is_true(s, _chain(s))]
            yield sum(s.count for s in broken), sum(s.count for s in of_chains)

    assert_rare(BROKEN, rounds(), "stacks that do not lead through both runtimes")
    seen = {_chain(sample) for sample in new_samples(known)}
    assert seen == set(CHAINS)
