# SPDX-License-Identifier: Apache-2.0
"""Labels of Go's goroutines (runtime/pprof.Do) are attributes of their samples: those that the
goroutine had when it was sampled, and no others; however the program is built, and in C.
"""
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import shutil
import signal

import pytest

import go_programs
from decided import Decision, Share, assert_rare
from profcol_run import pipeline, with_metrics
from profile_files import Samples
from variants import asked_for, variants
from waiting import wait_until

RATE = 997
TOGETHER = 2
BURN_MS = 3000
ROUNDS = 20
PATIENCE_S = 60  # until the first labels; a program without any fails alone
LEAST_SEEN = 20  # samples of each function

PREFIX = "process.context.label."

# The program calls each function with these labels alone (tests/targets/go_labels).
_NUMBERED = {f"k{i:02}": f"v{i:02}" for i in range(40)}
LABELS = {
    "main.plain": {},
    "main.red": {"color": "red"},
    "main.nested": {"color": "blue", "shape": "round"},
    "main.changed": {"color": "green"},
    "main.removed": {},
    "main.inherited": {"color": "red"},
    "main.twelve": {key: _NUMBERED[key] for key in list(_NUMBERED)[:12]},
    "main.forty": None,  # twelve of them
    "main.long": {"long": "x" * 255, "wide": "é" * 127, "empty": ""},
    "main.odd": {"odd": "???"},
    "main.allocates": {"color": "red"},
}
IN_C = {"main.throughC": {"language": "c"}}

# What is sampled between two instructions of pprof.Do belongs to neither; it has no such function.
WRONG = Share(fine=0.0005, fault=0.005)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    flags: tuple = ()
    has_c: bool = False
    tells_in_c: bool = True  # stacks lead from C to the function that tells which labels it has


CASES = (
    Case("plain"),
    Case("pie_stripped", ("-buildmode=pie", "-ldflags=-s -w")),
    Case("c", has_c=True),
    Case("c_pie_stripped", ("-buildmode=pie", "-ldflags=-s -w"), has_c=True),
)


def build(go, case, source, directory, name=None):
    """The path of the program, by the Go at `go`."""
    sources = source / "tests/targets/go_labels"
    return go_programs.build(go, sources, directory / (name or case.name), case.flags, case.has_c)


def labels_of(sample):
    return {
        key.removeprefix(PREFIX): value
        for key, value in sample.labels.items()
        if key.startswith(PREFIX)
    }


def function_of(sample):
    """The one that tells which labels the sample is to have; None: none does."""
    names = [name for name in sample.names if name in LABELS or name in IN_C]
    return names[-1] if names else None


def is_right(function, labels):
    if function == "main.forty":
        return len(labels) == 12 and labels.items() <= _NUMBERED.items()
    return labels == (LABELS | IN_C)[function]


@dataclasses.dataclass
class Observed:
    right: collections.Counter  # samples by function
    wrong: collections.Counter  # by function and labels

    def counts(self):
        """(wrong, all) samples."""
        right, wrong = sum(self.right.values()), sum(self.wrong.values())
        return wrong, right + wrong

    def is_enough(self, wanted):
        """Each function was seen, and it is decided whether all is right."""
        seen = all(self.right[one] >= LEAST_SEEN for one in wanted)
        return seen and WRONG.decide(*self.counts()) is not Decision.OPEN

    def print(self):
        print(dict(self.right))
        for (function, labels), count in self.wrong.most_common(5):
            print(count, "times:", function, dict(labels))


def observe_samples(samples):
    observed = Observed(collections.Counter(), collections.Counter())
    for sample in samples:
        function, labels = function_of(sample), labels_of(sample)
        if function and is_right(function, labels):
            observed.right[function] += sample.count
        elif function:
            observed.wrong[function, frozenset(labels.items())] += sample.count
    return observed


def functions(case):
    return LABELS | IN_C if case.has_c and case.tells_in_c else LABELS


def observe(programs, cases, start_profcol, start_target, directory):
    """Name to Observed, of all the programs, some at a time; `cases` has the case of each."""
    receiver = {
        "samples_per_second": RATE,
        "select": {"include": [{"pid": os.getpid()}]},
    }
    exporters = {"pprof": {"directory": str(directory / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(directory / "profiles")

    def observe_one(name, path):
        target = start_target(path)
        target.wait_burnt(BURN_MS)
        samples.wait_latest()
        # Before the program is known its samples have no labels.
        with contextlib.suppress(TimeoutError):
            wait_until(
                lambda: any(map(labels_of, samples.of(target.pid))), "labels", PATIENCE_S, 0.5
            )
        samples.wait_latest()
        before = len(samples.of(target.pid))
        for _ in range(ROUNDS):
            target.wait_burnt(BURN_MS)
            samples.wait_latest()
            observed = observe_samples(samples.of(target.pid)[before:])
            if observed.is_enough(functions(cases[name])):
                break
        target.kill()
        return name, observed

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        found = dict(pool.map(lambda one: observe_one(*one), programs.items()))
    run.stop()
    return found


def check(observed, case):
    """Labels of each function were seen, and hardly ever others."""
    observed.print()
    missing = [one for one in functions(case) if observed.right[one] < LEAST_SEEN]
    assert not missing
    assert_rare(WRONG, [observed.counts()], "samples with other labels")


@pytest.fixture(scope="module")
def go():
    return shutil.which("go") or pytest.skip("go is not installed")


@pytest.fixture(scope="module")
def seen(request, go, source, start_profcol_once, start_target_once, tmp_path_factory):
    directory = tmp_path_factory.mktemp("go_labels")
    cases = {case.name: case for case in CASES if not case.has_c or shutil.which("gcc")}
    asked = [name for name, in asked_for(request, "name") if name in cases]
    programs = {name: build(go, cases[name], source, directory) for name in asked}
    return observe(programs, cases, start_profcol_once, start_target_once, directory)


@pytest.mark.parametrize("name", variants(["plain", "c_pie_stripped"], ["pie_stripped", "c"]))
def test_labels_are_those_of_the_moment(name, seen):
    if name not in seen:
        pytest.skip("gcc is not installed")
    (case,) = (case for case in CASES if case.name == name)
    check(seen[name], case)


def reload(run, configuration):
    done = "Config reload complete."
    run.configuration.write_text(json.dumps(with_metrics(configuration, run.metrics_port)))
    run.process.send_signal(signal.SIGHUP)
    wait_until(lambda: done in run.log, f"a reload:\n{run.log[-2000:]}")


@pytest.mark.thorough
def test_labels_are_switched_off_and_on_while_it_runs(
    go, source, start_profcol, start_target, tmp_path
):
    target = start_target(build(go, CASES[0], source, tmp_path))

    def configuration(disabled, name):
        receiver = {
            "samples_per_second": RATE,
            "interpreters": {"go": {"labels": {"disabled": disabled}}},
            "select": {"include": [{"pid": target.pid}]},
        }
        exporters = {"pprof": {"directory": str(tmp_path / name), "interval": "1s"}}
        return pipeline(receiver=receiver, exporters=exporters)

    def labels(name):
        return [labels_of(sample) for sample in Samples(tmp_path / name).of(target.pid)]

    run = start_profcol(configuration(True, "off")).wait_ready()
    target.wait_burnt(BURN_MS)
    wait_until(lambda: len(labels("off")) >= 1000, "samples without labels", step_s=0.5)
    reload(run, configuration(False, "on"))
    assert not any(labels("off"))
    wait_until(lambda: any(labels("on")), "samples with labels", step_s=0.5)
    run.stop()


def test_labels_are_there_without_symbolization(go, source, start_profcol, start_target, tmp_path):
    target = start_target(build(go, CASES[0], source, tmp_path))
    receiver = {
        "samples_per_second": RATE,
        "interpreters": {"go": {"symbolization": {"disabled": True}}},
        "select": {"include": [{"pid": target.pid}]},
    }
    exporters = {"pprof": {"directory": str(tmp_path / "profiles"), "interval": "1s"}}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
    samples = Samples(tmp_path / "profiles")
    labelled = wait_until(
        lambda: [sample for sample in samples.of(target.pid) if labels_of(sample)],
        "samples with labels",
        step_s=0.5,
    )
    run.stop()
    assert not any(frame.line for sample in labelled for frame in sample.frames)
