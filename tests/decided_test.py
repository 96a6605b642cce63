# SPDX-License-Identifier: Apache-2.0
"""Verdicts on shares come out right, and are not given too early."""
import random

import pytest

from decided import Decision, Share, assert_few, assert_rare, is_decided

SHARE = Share(fine=0.01, fault=0.05)


def counts(probability, cap, seed):
    """(bad, total), ten more samples each time."""
    chance = random.Random(seed)
    bad = 0
    for total in range(10, cap, 10):
        bad += sum(chance.random() < probability for _ in range(10))
        yield bad, total


@pytest.mark.parametrize("seed", range(20))
def test_what_is_fine_passes(seed):
    assert_rare(SHARE, counts(SHARE.fine / 2, 100_000, seed), "bad ones")


@pytest.mark.parametrize("seed", range(20))
def test_a_fault_is_found(seed):
    with pytest.raises(AssertionError, match="bad ones: .* of "):
        assert_rare(SHARE, counts(SHARE.fault, 100_000, seed), "bad ones")


def test_few_samples_decide_nothing():
    least = SHARE.least_samples()
    assert SHARE.decide(0, least - 1) is Decision.OPEN
    assert SHARE.decide(0, least) is Decision.FINE
    assert SHARE.decide(5, 5) is Decision.OPEN
    assert SHARE.decide(9, 9) is Decision.FAULT
    with pytest.raises(AssertionError, match="decide nothing"):
        assert_rare(SHARE, [(0, least - 1)], "bad ones")


def test_no_round_decides_nothing():
    with pytest.raises(AssertionError, match="0 of 0 decide nothing"):
        assert_rare(SHARE, [], "bad ones")


def test_one_question_of_several_that_is_open_decides_nothing():
    least = SHARE.least_samples()
    shares = {"bad": (SHARE, 9, 9), "late": (SHARE, 0, least - 1)}
    assert not is_decided(shares)
    with pytest.raises(AssertionError, match="that are bad: 9 of 9"):
        assert_few(shares, "bad")
    shares["late"] = (SHARE, 0, least)
    assert is_decided(shares)
    assert_few(shares, "late")
