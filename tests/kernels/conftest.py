# SPDX-License-Identifier: Apache-2.0
"""What the tests on other kernels share with those on the running one: how to read profiles, and
programs that know their own stacks.
"""
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
sys.path.insert(0, str(SOURCE / "tests/e2e"))
