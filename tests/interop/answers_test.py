# SPDX-License-Identifier: Apache-2.0
"""What becomes of samples when the peer answers badly: one run sends to many peers, each with a
script of its own. Whatever the answers, the exit line and the peer's own log must agree.
"""
import datetime
import functools
import itertools
import math
import random

import pytest

import otlp_file
from otlp_exporter import balanced_books, otlp_to
from profcol_run import pipeline, read_profile
from waiting import wait_until

RETRYABLE = [
    "canceled",
    "deadline_exceeded",
    "aborted",
    "out_of_range",
    "unavailable",
    "data_loss",
]
PERMANENT = [
    "unknown",
    "invalid_argument",
    "not_found",
    "already_exists",
    "permission_denied",
    "failed_precondition",
    "unimplemented",
    "internal",
    "unauthenticated",
]
_BURN_MS = 2500
_RETRY_MS = 300

_QUICK = {"timeout": "300ms"}
_TIMELY = {"timeout": "15s"}  # answers come within that, where a machine stands still too
_SHORT_OF_PATIENCE = {
    "initial_interval": "20ms",
    "max_interval": "100ms",
    "max_elapsed_time": "200ms",
}
_ONE_BY_ONE = {"sending_queue": {"num_consumers": 1}}


_ANSWERS = 12  # that may be resets; all later ones are well
_SCRIPTED = 2  # at most, of each other script that ends well


def _random_resets():
    """Some of the connections; the same ones in every run of the test."""
    generator = random.Random(5)
    return ",".join(generator.choice(["ok", "ok", "reset"]) for _ in range(_ANSWERS)) + ",ok"


# The script of each peer, and options of the exporter that sends to it.
SCRIPTS = {
    **{code: (f"{code}*2,ok", {}) for code in RETRYABLE + PERMANENT},
    "throttled": (f"resource_exhausted+retry={_RETRY_MS}ms*2,ok", _ONE_BY_ONE),
    "halved": ("resource_exhausted,ok", _ONE_BY_ONE),
    "never_small_enough": ("resource_exhausted", {}),
    "partial": ("partial=2:two were odd,ok", _ONE_BY_ONE),
    "resets": (_random_resets(), {}),
    "hangs": (f"hang*{_SCRIPTED},ok", _TIMELY),
    "hangs_for_ever": ("hang", _QUICK),
    "full": ("hang", _QUICK | {"sending_queue": {"queue_size": 2}}),
    "no_retry": ("unavailable*2,ok", {"retry_on_failure": {"enabled": False}}),
    "exhausted": (
        "unavailable",
        {"retry_on_failure": _SHORT_OF_PATIENCE},
    ),
}


class Outcome:
    """What is known of one exporter after the run, from both sides."""

    def __init__(self, name, run, sink, profile):
        self.name = f'"otlp_grpc/{name}"'
        self.whole_log = run.log
        self.profile = profile
        self.balance = run.balances_by_exporter()[f"otlp_grpc/{name}"]
        self.log = [message for _, message in run.records(f"otlp_grpc/{name}")]
        self.requests = sink.requests()
        self.observations = otlp_file.read(sink.out)
        self.identities = otlp_file.identities(sink.out)

    @property
    def lost(self):
        """Samples by cause, without those that no exporter is to get."""
        return self.balance.dropped

    def answered(self, answer):
        """Observations in requests that were answered so."""
        return sum(one["observations"] for one in self.requests if one["answer"] == answer)

    def lines(self, text):
        return [line for line in self.log if text in line]

    def times(self, text):
        """When it logged lines with `text`, in seconds."""
        logged = (line.split("\t") for line in self.whole_log.splitlines())
        return [
            datetime.datetime.fromisoformat(when).timestamp()
            for when, *rest in logged
            if rest and self.name in rest[-1] and text in rest[-2]
        ]

    def assert_complete(self):
        """All arrived, once each."""
        assert self.lost == {}
        assert self.balance.exported == self.profile.count == len(self.observations)
        assert otlp_file.count_samples(seen.sample for seen in self.observations) == (
            otlp_file.count_samples(self.profile.samples)
        )


def dropped(run, **labels):
    """Samples that an exporter has dropped so far for one cause."""
    return run.metrics().value("profcol_exporter_dropped_profile_samples", **labels)


@pytest.fixture(scope="module")
def outcome(start_sink, start_profcol, burner, new_directory):
    """outcome(name): of the exporter with that script."""
    directory = new_directory()
    sinks = {name: start_sink(script) for name, (script, _) in SCRIPTS.items()}
    exporters = {"pprof": {"directory": str(directory), "interval": "1h"}} | {
        f"otlp_grpc/{name}": otlp_to(sinks[name].grpc, **options)
        for name, (_, options) in SCRIPTS.items()
    }
    run = start_profcol(pipeline(receiver={"reporter_interval": "200ms"}, exporters=exporters))
    burner.wait_burnt(_BURN_MS)
    # During the shutdown a request has one attempt only: whatever has an end is over by then.
    for name, (script, _) in SCRIPTS.items():
        count = len(script.split(",")) if name == "resets" else _SCRIPTED
        if script.endswith(",ok"):
            wait_until(lambda: len(sinks[name].requests()) > count, f"the end of what {name}")
    for name, cause in (("full", "queue_full"), ("exhausted", "retries_exhausted")):
        where = {"exporter": f"otlp_grpc/{name}", "cause": cause}
        wait_until(lambda: dropped(run, **where), f"what is {name}")
    assert balanced_books(run).keys() == {f"otlp_grpc/{name}" for name in SCRIPTS}
    run.stop()
    for sink in sinks.values():
        sink.stop()
    profile = read_profile(directory)
    return functools.cache(lambda name: Outcome(name, run, sinks[name], profile))


pytestmark = pytest.mark.sanitized


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_the_books_agree_with_the_peers(outcome, name):
    result = outcome(name)
    balance = result.balance
    balance.check()
    assert balance.exported + sum(result.lost.values()) == result.profile.count
    rejected = result.lost.get("rejected_by_peer", 0)
    assert balance.exported + rejected == len(result.identities)


@pytest.mark.parametrize("code", RETRYABLE)
def test_what_may_pass_is_tried_again(outcome, code):
    result = outcome(code)
    assert result.answered(code) > 0
    result.assert_complete()
    (line,) = result.lines("Will retry the request after interval")
    assert f": {code}: scripted answer" in line
    assert len(result.lines("working again")) == 1


@pytest.mark.parametrize("code", PERMANENT)
def test_what_is_for_good_is_dropped_and_counted(outcome, code):
    result = outcome(code)
    assert result.lost == {code: result.answered(code)}
    assert len([one for one in result.requests if one["answer"] == code]) == 2
    (line,) = result.lines("Dropping data")
    assert f"cause={code}" in line and f": {code}: scripted answer" in line
    assert not result.lines("Will retry")


def test_what_is_unimplemented_for_other_reasons_is_not_explained_away(outcome):
    """connection_test.py has the peer without a pipeline, which says so in gRPC's own words."""
    (line,) = outcome("unimplemented").lines("Dropping data")
    assert "profiles pipeline" not in line


def test_a_delay_that_the_peer_names_is_kept(outcome):
    result = outcome("throttled")
    result.assert_complete()
    times = [one["time_unix_nano"] // 1000000 for one in result.requests]
    assert min(times[1] - times[0], times[2] - times[1]) >= _RETRY_MS


def test_a_request_that_is_too_large_is_halved(outcome):
    result = outcome("halved")
    if result.requests[0]["observations"] == 1:  # of a machine that stood still: nothing to halve
        assert result.lost == {"too_large": 1}
        return
    result.assert_complete()
    whole, piece, *_ = (one["raw_bytes"] for one in result.requests)
    assert piece < whole  # but one observation alone may be more than half of it
    # Requests of up to 64 KiB are no limit to be remembered; a busy machine has larger ones.
    assert bool(result.lines("the peer does not take requests of")) == (whole > 64 << 10)


def test_a_peer_that_calls_everything_too_large_is_not_asked_for_ever(outcome):
    result = outcome("never_small_enough")
    assert result.lost == {"too_large": result.profile.count}
    assert len(result.requests) < 2 * result.profile.count


def test_a_partial_success_counts_what_was_rejected(outcome):
    result = outcome("partial")
    first = result.requests[0]
    # The peer counts profiles, two of these; samples are their share, rounded up.
    share = math.ceil(first["observations"] * min(2, first["profiles"]) / first["profiles"])
    assert abs(result.lost["rejected_by_peer"] - share) <= 1 and len(result.lost) == 1
    (line,) = result.lines("Partial success")
    assert "two were odd" in line


def test_connections_that_are_reset_lose_nothing(outcome):
    result = outcome("resets")
    resets = len([one for one in result.requests if one["answer"] == "reset"])
    assert resets > 0
    assert result.lost == {}
    assert result.balance.exported == result.profile.count == len(result.identities)
    # What the peer took on the same connection may have lost its answer, and came once more.
    assert max(result.identities.values()) <= 1 + resets


def test_a_peer_that_does_not_answer_is_asked_again(outcome):
    result = outcome("hangs")
    result.assert_complete()
    # The peer knows our deadline, and ends its call when that passes: whichever is told first.
    assert result.lines("deadline_exceeded") or result.lines("canceled: never answered")


def test_a_peer_that_never_answers_costs_the_queue_only(outcome):
    result = outcome("hangs_for_ever")
    assert result.lost == {"shutdown": result.profile.count}


def test_a_full_queue_refuses_and_counts(outcome):
    result = outcome("full")
    assert set(result.lost) == {"queue_full", "shutdown"}
    # One a minute, which a busy machine may need.
    times = result.times("Rejecting data")
    assert times and all(b - a > 59 for a, b in itertools.pairwise(times))


def test_without_retries_one_failure_drops(outcome):
    result = outcome("no_retry")
    assert result.lost == {"unavailable": result.answered("unavailable")}
    assert "retry_on_failure" in result.lines("Dropping data")[0]


def test_retries_end(outcome):
    result = outcome("exhausted")
    assert result.balance.exported == 0 and result.lost["retries_exhausted"] > 0
    assert set(result.lost) <= {"retries_exhausted", "shutdown"}
