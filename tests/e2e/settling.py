# SPDX-License-Identifier: Apache-2.0
"""Waiting for figures that are published now and then: one reading says nothing of the next."""
import time

from waiting import wait_until


def settled(read, what, for_s=1.5):
    """What `read` returns when it has been the same for so long, which is longer than the second
    after which the slowest of the metrics are published again."""
    value, since = read(), time.monotonic()

    def is_same():
        nonlocal value, since
        last, value = value, read()
        if value != last:
            since = time.monotonic()
        return time.monotonic() - since > for_s

    wait_until(is_same, f"{what} that stay for {for_s} s")
    return value
