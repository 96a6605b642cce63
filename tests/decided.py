# SPDX-License-Identifier: Apache-2.0
"""Shares of samples that are judged by as many samples as it takes.

A test that compares a share with one limit after a fixed number of samples fails by chance whenever
the true share lies near the limit, or the samples are few. A sequential test (Wald's, Annals of
Mathematical Statistics 16, 1945) names two shares instead, one that is fine and one that is a fault,
and goes on until one of them is so unlikely that a wrong verdict comes once in a million.
"""
import dataclasses
import enum
import math

ERROR = 1e-6  # how often a verdict may be wrong, either way


class Decision(enum.Enum):
    FINE = "fine"
    FAULT = "a fault"
    OPEN = "undecided"


@dataclasses.dataclass(frozen=True)
class Share:
    """Of bad samples among all: `fine` is what a program without fault has at most, `fault` what one
    with a fault has at least. What lies between may be decided either way.
    """

    fine: float
    fault: float

    def decide(self, bad, total):
        """A Decision by `bad` samples of `total`."""
        assert 0 < self.fine < self.fault < 1 and 0 <= bad <= total, (self, bad, total)
        evidence = bad * math.log(self.fault / self.fine)
        evidence += (total - bad) * math.log((1 - self.fault) / (1 - self.fine))
        bound = math.log((1 - ERROR) / ERROR)
        if evidence >= bound:
            return Decision.FAULT
        return Decision.FINE if evidence <= -bound else Decision.OPEN

    def least_samples(self):
        """So many decide when none of them is bad."""
        bound = math.log((1 - ERROR) / ERROR)
        return math.ceil(bound / math.log((1 - self.fine) / (1 - self.fault)))


def assert_rare(share, rounds, what):
    """`rounds` yields (bad, total), counted from the start of the test, and makes more samples
    each time it is asked; where it ends, the test's cap is reached. Fails on a fault, and when the
    cap leaves the question open.
    """
    bad = total = 0
    for bad, total in rounds:
        decision = share.decide(bad, total)
        if decision is not Decision.OPEN:
            assert decision is Decision.FINE, f"{what}: {bad} of {total}, {share}"
            return
    raise AssertionError(
        f"{what}: {bad} of {total} decide nothing; {share} wants {share.least_samples()} or more"
    )


def is_decided(shares):
    """Are there samples enough for a verdict on each of `shares`, (Share, bad, total) by what is bad?"""
    decisions = (share.decide(bad, total) for share, bad, total in shares.values())
    return Decision.OPEN not in decisions


def assert_few(shares, what):
    """Of `shares`, as in is_decided(), fails unless few samples are `what`."""
    share, bad, total = shares[what]
    assert_rare(share, [(bad, total)], f"samples that are {what}")
