# SPDX-License-Identifier: Apache-2.0
"""Tests that run over variants of one thing: which of them a session runs, and which is sanitized."""
import pytest


def one_sanitized(names, chosen):
    """Parameters by these names; the sanitized program runs `chosen` alone, where all of them lead
    through the same code of its.
    """
    marks = {chosen: pytest.mark.sanitized}
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


def asked_for(request, *parameters):
    """Tuples of the values of these parameters, each once, of the tests of `request`'s module that
    this session runs: for a fixture that starts all of them at once.
    """
    tests = (item for item in request.session.items if item.path == request.path)
    values = (tuple(item.callspec.params[name] for name in parameters) for item in tests)
    return list(dict.fromkeys(values))
