# SPDX-License-Identifier: Apache-2.0
"""Waiting for figures that are published now and then: one reading says nothing of the next."""
import time

from waiting import wait_until


def settled(read, what, for_s=1.5):
    """What `read` returns when it has been the same for so long, which is longer than the second
    after which the slowest of the metrics are published again."""
    value, same_s, looked_s = read(), 0, time.monotonic()

    def is_same():
        nonlocal value, same_s, looked_s
        last, value = value, read()
        passed_s, looked_s = time.monotonic() - looked_s, time.monotonic()
        # While the machine stood still nobody published anything.
        same_s = same_s + min(passed_s, 0.2) if value == last else 0
        return same_s > for_s

    wait_until(is_same, f"{what} that stay for {for_s} s")
    return value
