# SPDX-License-Identifier: Apache-2.0
"""Threads of Java have their names on HotSpot of many versions: tests/e2e/java_threads_test.py."""
import pytest

import language_runtimes
from java_threads_test import READ, READ_FROM_25, check_names, classes, start_threads, watch

pytestmark = pytest.mark.runtimes


@pytest.mark.parametrize("flags", [*READ.values(), *READ_FROM_25.values()], ids=" ".join)
@pytest.mark.parametrize("version", language_runtimes.names("jdk"))
def test_threads_have_their_names(
    version, flags, runtime, classes, start_target, start_profcol, tmp_path
):
    target = start_threads(start_target, runtime(version), classes, flags)
    check_names(watch(target.pid, start_profcol, tmp_path / "out"), target)
