# SPDX-License-Identifier: Apache-2.0
"""Tests that run over variants of one thing: which of them a session runs."""
import pytest


def variants(usual, by_hand, sanitized=None):
    """Parameters by these names. make test runs those of `usual`; those `by_hand` lead through the
    same code of the profiler's, and run with the other runtimes; the sanitized program runs one.
    """
    marks = dict.fromkeys(by_hand, pytest.mark.runtimes) | {sanitized: pytest.mark.sanitized}
    return [pytest.param(name, marks=marks.get(name, ())) for name in (*usual, *by_hand)]


def asked_for(request, *parameters):
    """Tuples of the values of these parameters, each once, of the tests of `request`'s module that
    this session runs: for a fixture that starts all of them at once.
    """
    tests = (item for item in request.session.items if item.path == request.path)
    calls = (getattr(test, "callspec", None) for test in tests)
    values = (call.params for call in calls if call and call.params.keys() >= {*parameters})
    return list(dict.fromkeys(tuple(one[name] for name in parameters) for one in values))
