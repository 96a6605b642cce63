# SPDX-License-Identifier: Apache-2.0
"""Reported call chains against those that a program knows it had."""
import collections
import dataclasses

import pytest

import shadow_file
from profcol_run import pipeline, read_profile

pytestmark = pytest.mark.sanitized

FOREIGN = "memcpy"


@dataclasses.dataclass(frozen=True)
class Shadow:
    functions: tuple  # of the program
    true_chains: set
    reported_chains: collections.Counter  # of samples


@pytest.fixture(scope="module")
def shadow(start_profcol_once, start_target_once, build_target, tmp_path_factory):
    """Some seconds of the program, as it tells it and as it was reported."""
    directory = tmp_path_factory.mktemp("shadow")
    path = build_target("shadow_stack")
    target = start_target_once(path, directory / "shadow")
    run = start_profcol_once(pipeline(directory / "out", {"samples_per_second": 199})).wait_ready()
    target.wait_burnt(8000)
    run.stop()

    told = shadow_file.read(directory / "shadow")
    reported = collections.Counter()
    for sample in read_profile(directory / "out").of_pid(target.pid):
        reported[reported_chain(sample, str(path), told.functions)] += sample.count
    return Shadow(told.functions, set(told.chains), reported)


def reported_chain(sample, path, functions):
    """The chain of a sample from its leaf to main, by name.

    The kernel's frames at the leaf end are left out, and what called main: libc has no frame
    pointers. Nothing else is: a frame outside the program stays and spoils the chain.
    """
    frames = list(sample.frames)
    while frames and not frames[0].file.startswith(("/", "[")):
        frames.pop(0)
    chain = [
        frame.name if frame.file == path else f"{frame.name} of {frame.file}" for frame in frames
    ]
    if "main" in chain:
        callers = chain[chain.index("main") + 1 :]
        if not set(callers) & set(functions):
            chain = chain[: chain.index("main") + 1]
    return tuple(chain)


def mutants(chain, functions):
    """Every chain that differs from `chain` by one frame left out, repeated or replaced."""
    for at in range(len(chain)):
        yield chain[:at] + chain[at + 1 :]
        yield chain[:at] + chain[at : at + 1] + chain[at:]
        for other in (*functions, FOREIGN):
            if other != chain[at]:
                yield chain[:at] + (other,) + chain[at + 1 :]


def test_near_misses_are_not_among_the_true_chains(shadow):
    assert len(shadow.true_chains) == 16
    for chain in shadow.true_chains:
        for mutant in mutants(chain, shadow.functions):
            assert mutant not in shadow.true_chains, f"{mutant} cannot be told from {chain}"


def test_99_percent_of_the_reported_chains_are_true(shadow):
    total = sum(shadow.reported_chains.values())
    wrong = {
        chain: count
        for chain, count in shadow.reported_chains.items()
        if chain not in shadow.true_chains
    }
    print(f"{total - sum(wrong.values())} of {total} samples have a true chain")
    assert total >= 1000, "too few samples to judge by"
    assert sum(wrong.values()) <= 0.01 * total, wrong


def test_every_true_chain_is_reported(shadow):
    assert shadow.true_chains <= set(shadow.reported_chains)


def test_two_functions_that_burn_1_to_3_are_reported_so(shadow):
    leaves = collections.Counter()
    for chain, count in shadow.reported_chains.items():
        leaves[chain[:1]] += count
    light, heavy = (100 * leaves[(name,)] / leaves.total() for name in ("light", "heavy"))
    print(f"light {light:.1f} %, heavy {heavy:.1f} %")
    assert abs(light - 25) <= 5
    assert abs(heavy - 75) <= 5
