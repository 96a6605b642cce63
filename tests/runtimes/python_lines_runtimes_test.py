# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/python_lines_test.py with many versions of Python."""
import pytest

import pythons
from python_lines_test import check_lines, generator, tool

pytestmark = pytest.mark.runtimes


@pytest.mark.parametrize("name", pythons.NAMES)
def test_lines_are_the_interpreters(name, tool, generator):
    check_lines(tool, pythons.path_of(name), generator)
