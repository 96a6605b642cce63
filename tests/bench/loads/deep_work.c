// SPDX-License-Identifier: Apache-2.0
/*
 * Recursion of 400 frames through eight functions whose frames differ in size. A unit is one way
 * down and up; most of its time goes by at the bottom, the rest on the way.
 */
#include "unit.h"

#define DEPTH         400
#define WAY_ROUNDS    200
#define BOTTOM_ROUNDS 1200
#define BOTTOM_STEPS  1000
#define NOINLINE      __attribute__((noinline))

typedef uint32_t deep_function(uint32_t level, uint32_t state);

static deep_function *const deep_functions[8];

static NOINLINE uint32_t deep_mix(uint32_t state, unsigned int rounds)
{
	while (rounds--) {
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
	}
	return state;
}

static NOINLINE uint32_t deep_bottom(uint32_t state)
{
	for (unsigned int i = 0; i < BOTTOM_STEPS; i++)
		state = unit_fold(deep_mix(state, BOTTOM_ROUNDS), i);
	return state;
}

/* Keeps `words` words of the stack alive across its call. */
#define DEEP_FUNCTION(name, words)                                                                 \
	static NOINLINE uint32_t name(uint32_t level, uint32_t state)                              \
	{                                                                                          \
		volatile uint32_t kept[words];                                                     \
                                                                                                   \
		kept[level % (words)] = state;                                                     \
		state = deep_mix(state + (words), WAY_ROUNDS);                                     \
		state = level ? deep_functions[state & 7](level - 1, state) : deep_bottom(state);  \
		return deep_mix(state ^ kept[level % (words)], WAY_ROUNDS);                        \
	}

DEEP_FUNCTION(deep_a, 1)
DEEP_FUNCTION(deep_b, 3)
DEEP_FUNCTION(deep_c, 6)
DEEP_FUNCTION(deep_d, 10)
DEEP_FUNCTION(deep_e, 15)
DEEP_FUNCTION(deep_f, 21)
DEEP_FUNCTION(deep_g, 28)
DEEP_FUNCTION(deep_h, 36)

static deep_function *const deep_functions[8] = {
	deep_a, deep_b, deep_c, deep_d, deep_e, deep_f, deep_g, deep_h,
};

int main(void)
{
	for (;;)
		unit_report(STDOUT_FILENO, deep_a(DEPTH, 42));
}
