# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions. The bound only ends tests that would hang; none asserts a speed."""
import time

BOUND_S = 60


def wait_until(condition, what, bound_s=BOUND_S):
    """Return the first true result of `condition`."""
    end = time.monotonic() + bound_s
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"still not after {bound_s} s: {what}"
        time.sleep(0.02)
