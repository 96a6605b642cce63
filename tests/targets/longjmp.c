// SPDX-License-Identifier: Apache-2.0
/*
 * Chains that are left by longjmp(), four to six frames at once, and work on both sides of it.
 * The leaf does not return, and its caller ends with the call: the return address is the first
 * byte of another function.
 */
#define SHADOW_FUNCTIONS(F)                                                                        \
	F(main, "main")                                                                            \
	F(harbour, "harbour")                                                                      \
	F(station, "station")                                                                      \
	F(lower, "lower")                                                                          \
	F(upper, "upper")                                                                          \
	F(climb, "climb")                                                                          \
	F(leap, "leap")                                                                            \
	F(moored, "moored")                                                                        \
	F(arrived, "arrived")
#include "shadow.h"

#include <setjmp.h>

static jmp_buf place;
static volatile uint32_t depth_there;

static SHADOW_FRAME __attribute__((noreturn)) void leap(void)
{
	shadow_push(SHADOW_leap);
	shadow_record();
	shadow_work(50000);
	longjmp(place, 1);
}

static SHADOW_FRAME __attribute__((noreturn)) void climb(unsigned int left)
{
	shadow_push(SHADOW_climb);
	if (left)
		climb(left - 1);
	leap();
}

static SHADOW_FRAME void lower(void)
{
	shadow_push(SHADOW_lower);
	climb(0);
}

static SHADOW_FRAME void upper(void)
{
	shadow_push(SHADOW_upper);
	climb(2);
}

#define LANDED(name)                                                                               \
	static SHADOW_FRAME void name(void)                                                        \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		shadow_record();                                                                   \
		shadow_work(50000);                                                                \
		shadow_pop();                                                                      \
	}
LANDED(moored)
LANDED(arrived)

#define START(name, first, landed)                                                                 \
	static SHADOW_FRAME void name(void)                                                        \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		depth_there = shadow_slot->depth;                                                  \
		if (!setjmp(place))                                                                \
			first();                                                                   \
		shadow_slot->depth = depth_there;                                                  \
		landed();                                                                          \
		shadow_pop();                                                                      \
	}
START(harbour, lower, moored)
START(station, upper, arrived)

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);

	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++) {
		harbour();
		station();
	}
	return 0;
}
