# SPDX-License-Identifier: Apache-2.0
"""Reported call chains against those that a program knows it had."""
import collections
import dataclasses
import signal

import pytest

import pprof_file
import shadow_file
from decided import Share, assert_rare
from profcol_run import pipeline, profile_paths
from waiting import wait_until

pytestmark = pytest.mark.sanitized

RATE = 997
BURN_MS = 3000
SETTLED_SAMPLES = 10
FOREIGN = "memcpy"
# Of samples with a chain that is not one of the program's: one in a hundred is as good as fault.
WRONG = Share(fine=0.003, fault=0.022)


@dataclasses.dataclass(frozen=True)
class Shadow:
    functions: tuple  # of the program
    true_chains: set
    reported_chains: collections.Counter  # of samples


class Reported:
    """What was reported of the program at `path` with the number `pid`, in files of a directory."""

    def __init__(self, directory, path, pid):
        self._directory = directory
        self._path = str(path)
        self._pid = pid

    def told(self):
        return shadow_file.read(self._directory / "shadow")

    def files(self):
        """(profile, Counter of its chains) of each finished file."""
        functions = self.told().functions
        for path in profile_paths(self._directory / "out"):
            profile, chains = pprof_file.read(path), collections.Counter()
            for sample in profile.of_pid(self._pid):
                chains[reported_chain(sample, self._path, functions)] += sample.count
            yield profile, chains

    def find_settled(self):
        """The end of the first files in a row in which all chains are true; None until then."""
        true = 0
        for profile, chains in self.files():
            true = true + chains.total() if set(chains) <= set(self.told().chains) else 0
            if true >= SETTLED_SAMPLES:
                return profile.time_ns + profile.duration_ns
        return None


@pytest.fixture(scope="module")
def shadow(start_profcol_once, start_target_once, build_target, tmp_path_factory):
    """Some seconds of the program, once it is known, as it tells it and as it was reported."""
    directory = tmp_path_factory.mktemp("shadow")
    path = build_target("shadow_stack")
    target = start_target_once(path, directory / "shadow")
    receiver = {
        "samples_per_second": RATE,
        "select": {"include": [{"executable": {"values": [str(path)]}}]},
    }
    exporters = {"pprof": {"directory": str(directory / "out"), "interval": "500ms"}}
    run = start_profcol_once(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    reported = Reported(directory, path, target.pid)
    settled_ns = wait_until(reported.find_settled, "true chains of the program")
    target.wait_burnt(BURN_MS)
    # Not killed: a process that is being taken apart has no stack.
    target.process.send_signal(signal.SIGSTOP)
    run.stop()

    chains = collections.Counter()
    for profile, found in reported.files():
        if profile.time_ns >= settled_ns:
            chains += found
    told = reported.told()
    return Shadow(told.functions, set(told.chains), chains)


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


def test_the_reported_chains_are_true(shadow):
    total = sum(shadow.reported_chains.values())
    wrong = {
        chain: count
        for chain, count in shadow.reported_chains.items()
        if chain not in shadow.true_chains
    }
    print(f"{total - sum(wrong.values())} of {total} samples have a true chain")
    assert_rare(WRONG, [(sum(wrong.values()), total)], f"wrong chains {wrong}")


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
