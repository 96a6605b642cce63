# SPDX-License-Identifier: Apache-2.0
"""Is the limit kept, and is the time of each program still right?"""
import pytest

from overhead_figures import Cost, Result, complaints, cost, parse_limits, table

LIMITS = {"cpu": "0.5%"}


def result(cpu=0.0046, seconds=101.0, samples=10_000):
    return Result(
        cost={"limited": Cost(cpu, 40 << 20, 24.0), "unlimited": Cost(0.02, 44 << 20, 99.0)},
        programs={
            "limited": {"burn": (samples, seconds), "few": (1_200, 12.0)},
            "unlimited": {"burn": (20_000, 100.0), "few": (12_000, 10.0), "gone": (9, 1.0)},
        },
    )


def test_limits_are_read_as_they_are_configured():
    assert parse_limits("cpu=0.5%,memory=64MiB") == {"cpu": "0.5%", "memory": "64MiB"}
    for wrong in ("", "cpu", "rate=5", "cpu="):
        with pytest.raises(ValueError, match="write it as"):
            parse_limits(wrong)


def test_cost_is_of_the_time_between_two_readings():
    measured = cost((10, 1.0, 7, 1e7), (30, 1.1, 9, 5e7))
    assert measured == Cost(pytest.approx(0.005), 9, pytest.approx(20))


def test_what_is_kept_is_no_complaint_and_programs_with_few_samples_are_none():
    assert complaints(result(), LIMITS) == []


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"cpu": 0.0061}, "0.61 % of a CPU is not within 20 % of the limit"),
        ({"cpu": 0.0039}, "0.39 % of a CPU is not within 20 % of the limit"),
        ({"seconds": 96.5}, "burn: CPU time differs by -3.5 %"),
        ({"samples": 9_999}, "no program has 10000 samples in both: measure for longer"),
    ],
)
def test_what_is_not_kept_is_said(changes, complaint):
    assert complaints(result(**changes), LIMITS) == [complaint]


def test_the_table_has_both_runs_and_each_program():
    lines = table(result(), LIMITS).splitlines()
    assert "| limited | 0.46 % | 40.0 MiB | 24.0 |" in lines
    assert "| burn | 20,000 | 100.00 s | 10,000 | 101.00 s | +1.0 % |" in lines
