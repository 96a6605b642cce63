# SPDX-License-Identifier: Apache-2.0
"""Programs that name the code that they make, each in a way of its own, and the share of it that has
names then. The runtime that profcol knows of it is switched off.
"""
import dataclasses
import subprocess

from decided import Share, assert_rare
from profcol_run import pipeline
from profile_files import Samples
from waiting import wait_until

# What is compiled anew has its name a moment later.
UNNAMED = Share(fine=0.02, fault=0.2)
ROUND_MS = 500  # of CPU time
ROUNDS = 20
PID = "PID"


@dataclasses.dataclass(frozen=True)
class Producer:
    name: str
    command: tuple
    hot: str  # in the name of the function that computes
    caller: str  # in that of one that calls it
    disabled: tuple = ()  # interpreters
    variables: tuple = ()  # of the environment: (name, value)
    tell: tuple = ()  # a command that has it write its map; PID is the process


def _tell(producer, pid):
    if producer.tell:
        command = [str(pid) if word == PID else word for word in producer.tell]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def _has_nameless(sample):
    return any(frame.is_made for frame in sample.frames)


def _is_hot(producer, sample):
    return any(producer.hot in (name or "") for name in sample.names)


def _calls(producer, sample):
    """Is the caller's frame somewhere below that of the hot function?"""
    names = [name or "" for name in sample.names]
    hot = next(at for at, name in enumerate(names) if producer.hot in name)
    return any(producer.caller in name for name in names[hot + 1 :])


def assert_named(producer, start_profcol, target, directory):
    """Of the samples of `target`, which runs this producer's command, from the first one on that has
    its name.
    """
    receiver = {"samples_per_second": 499}
    if producer.disabled:
        receiver["interpreters"] = {name: {"disabled": True} for name in producer.disabled}
    exporters = {"pprof": {"directory": str(directory), "interval": "1s"}}
    start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory)

    def is_named():
        assert target.process.poll() is None, f"{producer.name} has ended"
        _tell(producer, target.pid)
        return any(_is_hot(producer, sample) for sample in samples.of(target.pid))

    wait_until(is_named, f"a name of {producer.name}", step_s=1)
    samples.wait_latest()
    known = len(samples.of(target.pid))

    def new_samples():
        return samples.of(target.pid)[known:]

    def rounds():
        for _ in range(ROUNDS):
            _tell(producer, target.pid)
            target.wait_burnt(ROUND_MS)
            samples.wait_latest()
            nameless = [sample for sample in new_samples() if _has_nameless(sample)]
            yield sum(s.count for s in nameless), sum(s.count for s in new_samples())

    assert_rare(UNNAMED, rounds(), f"samples of {producer.name} without a name")
    hot = [sample for sample in new_samples() if _is_hot(producer, sample)]
    called = [sample for sample in hot if _calls(producer, sample)]
    total, named = sum(s.count for s in new_samples()), sum(s.count for s in hot)
    print(f"{producer.name}: of {total} samples {named} have '{producer.hot}' in them")
    assert named >= 0.5 * total
    assert sum(s.count for s in called) >= 0.9 * named
