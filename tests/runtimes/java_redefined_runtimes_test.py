# SPDX-License-Identifier: Apache-2.0
"""Frames of a class that is redefined are of the version that ran, on HotSpot of many versions:
tests/e2e/java_redefined_test.py."""
import subprocess

import pytest

import language_runtimes
from java_redefined_test import FLAGS, arguments, check_redefined

pytestmark = pytest.mark.runtimes


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("version", language_runtimes.names("jdk"))
def test_frames_of_a_redefined_class_are_of_the_version_that_ran(
    version, flags, runtime, arguments, start_target, start_profcol, tmp_path
):
    java = runtime(version)
    if subprocess.run([java, *arguments[:3], "-version"], capture_output=True).returncode:
        pytest.skip(f"{version} has no java.instrument")
    check_redefined(java, flags, arguments, start_target, start_profcol, tmp_path / "out")
