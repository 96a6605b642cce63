# SPDX-License-Identifier: Apache-2.0
"""Computes for as long as it lives."""


def innermost(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) & 0xFFFFFFFF
    return x


def middle(n):
    return innermost(n) + 1


while True:
    middle(2000)
