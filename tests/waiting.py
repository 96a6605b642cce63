# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions. The bound only ends what would hang; no test asserts a speed."""
import time

BOUND_S = 300  # the machine may be busy with much else


def wait_until(condition, what, bound_s=BOUND_S, step_s=0.02):
    """The first true result of `condition`; TimeoutError when there is none in time."""
    end = time.monotonic() + bound_s
    while True:
        if result := condition():
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"still not after {bound_s} s: {what}")
        time.sleep(step_s)
