# SPDX-License-Identifier: Apache-2.0
"""Prints C with thousands of functions in levels: `cold_text.py SEED`.

Each calls one of those of the next level; which one depends on the state. No two are alike, so
each walk goes through other cache lines, and each stack through other rows of unwind tables.
"""
import random
import sys

LEVELS = 40
WIDTH_BITS = 7
WIDTH = 1 << WIDTH_BITS

_FUNCTION = """
static __attribute__((noinline)) uint32_t cold_{level}_{index}(uint32_t state)
{{
	volatile uint32_t kept[{words}];

	kept[{word}] = state;
{before}
	state = {call};
{after}
	return state ^ kept[{word}];
}}"""

_WALK = """
uint32_t cold_walk(uint32_t state)
{{
	return cold_level_0[state >> {shift}](state) + 1;
}}"""


def print_steps(source):
    """Some statements that change the state."""
    steps = []
    for _ in range(source.randint(3, 9)):
        factor, shift = source.getrandbits(31) | 1, source.randint(3, 28)
        steps.append(
            source.choice(
                (
                    f"\tstate = (state ^ {source.getrandbits(31)}u) * {factor}u;",
                    f"\tstate ^= state >> {shift};",
                    f"\tif (state & {1 << shift}u)\n\t\tstate += {source.getrandbits(31)}u;",
                    f"\tstate = state << {shift} | state >> {32 - shift};",
                )
            )
        )
    return "\n".join(steps)


def print_function(source, level, index):
    words = source.randint(1, 12)
    if level + 1 < LEVELS:
        call = f"cold_level_{level + 1}[state * 2654435761u >> {32 - WIDTH_BITS}](state)"
    else:
        call = "state ^ state >> 16"
    return _FUNCTION.format(
        level=level,
        index=index,
        words=words,
        word=source.randrange(words),
        before=print_steps(source),
        call=call,
        after=print_steps(source),
    )


def main():
    source = random.Random(int(sys.argv[1]))
    print("#include <stdint.h>")
    for level in reversed(range(LEVELS)):
        for index in range(WIDTH):
            print(print_function(source, level, index))
        names = ", ".join(f"cold_{level}_{index}" for index in range(WIDTH))
        print(f"\nstatic uint32_t (*const cold_level_{level}[])(uint32_t) = {{ {names} }};")
    print(_WALK.format(shift=32 - WIDTH_BITS))


main()
