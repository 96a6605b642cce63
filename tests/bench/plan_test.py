# SPDX-License-Identifier: Apache-2.0
"""What a run measures, in which order, and where an interrupted one goes on."""
import journal
import plan
import pytest


def test_mixed_is_measured_at_two_rates_unless_told_otherwise():
    names = [case.name for case in plan.cases(plan.LOADS, None)]
    rest = ["storm@99", "large@99", "idle@99", "deep@99", "cold@99"]
    assert names == ["mixed@99", "mixed@20", "mixed@99-counted", *rest]
    assert [case.name for case in plan.cases(["mixed"], 49)] == ["mixed@49", "mixed@49-counted"]


def test_profilers_take_turns_within_a_case():
    steps = plan.steps(plan.cases(["deep"], None), 2, ["profcol", "reference"])
    assert [step.key for step in steps] == [
        f"deep@99 round {number} {profiler}"
        for number in (1, 2)
        for profiler in ("none", "profcol", "reference")
    ]


def test_an_idle_machine_is_not_measured_without_a_profiler():
    steps = plan.steps(plan.cases(["idle"], None), 1, ["profcol"])
    assert [step.profiler for step in steps] == ["profcol"]


def test_what_is_sent_as_counts_is_measured_once():
    steps = plan.steps(plan.cases(["mixed"], 99), 3, plan.PROFILERS)
    counted = [step.key for step in steps if step.case.counted]
    assert counted == [f"mixed@99-counted round 1 {name}" for name in ("profcol", "reference")]


def test_unknown_names_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="no load storms; there is mixed, storm"):
        plan.cases(["storms"], None)
    with pytest.raises(ValueError, match="no profiler gprof; there is profcol"):
        plan.known_profilers(["gprof"])


def test_a_full_run_takes_no_more_than_an_hour():
    steps = plan.steps(plan.cases(plan.LOADS, None), 3, plan.PROFILERS)
    assert plan.estimate_s(steps) <= 3600
    assert sum(plan.estimates_s(steps).values()) == plan.estimate_s(steps)
    assert list(plan.estimates_s(steps)) == list(plan.LOADS)


def test_storms_are_measured_for_longer_unless_told_otherwise():
    seconds = {case.name: case.seconds for case in plan.cases(["mixed", "storm"], None)}
    assert seconds == {"mixed@99": 20, "mixed@20": 20, "mixed@99-counted": 20, "storm@99": 70}
    assert {case.seconds for case in plan.cases(plan.LOADS, None, 5)} == {5}


def _journal(path, identity):
    made = journal.Journal(path)
    made.begin(identity)
    return made


def test_a_run_goes_on_with_what_is_missing_or_failed(tmp_path):
    steps = plan.steps(plan.cases(["deep"], None), 1, ["profcol", "reference", "perf"])
    run = _journal(tmp_path / "run", {})
    assert run.remaining(steps) == steps
    run.append({"key": steps[0].key})
    run.append({"key": steps[1].key, "failed": "no such file"})
    with run.measurements_path.open("a") as file:
        file.write('{"key": "deep@99 round 1 refe')  # killed while it wrote
    assert run.remaining(steps) == steps[1:]
    run.append({"key": steps[3].key})
    run.append({"key": steps[1].key})
    assert [step.profiler for step in run.remaining(steps)] == ["reference"]


def test_only_an_unfinished_run_of_the_same_identity_is_resumed(tmp_path):
    identity = {"commit": "abc", "seconds": 20}
    assert journal.unfinished(tmp_path, identity) is None
    _journal(tmp_path / "1", identity)
    second = _journal(tmp_path / "2", identity)
    _journal(tmp_path / "3", identity | {"seconds": 3})
    (tmp_path / "4").mkdir()
    (tmp_path / "4/plan.json").write_text("{")
    assert journal.unfinished(tmp_path, identity).directory == second.directory
    second.result_path.write_text("{}")
    assert journal.unfinished(tmp_path, identity).directory == tmp_path / "1"
