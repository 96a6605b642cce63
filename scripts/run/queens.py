# SPDX-License-Identifier: Apache-2.0
"""Python for `make run` to profile: places queens on a chess board, for argv[1] seconds."""
import sys
import time

SIZE = 7


def place_queens(row, columns, rising, falling):
    """In how many ways those of the rows from `row` on can stand."""
    if row == SIZE:
        return 1
    return sum(
        place_queens(row + 1, columns | {column}, rising | {row + column}, falling | {row - column})
        for column in range(SIZE)
        if column not in columns and row + column not in rising and row - column not in falling
    )


def main():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        place_queens(0, frozenset(), frozenset(), frozenset())


main()
