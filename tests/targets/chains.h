/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen chains for programs with a shadow stack, chosen so that near misses are not among them:
 * a direction, a season, a colour, three turns of one recursive function, a leaf. Colour and leaf
 * follow from direction and season, so any two chains differ in two places at least, and every
 * function has its own depths. A chain with a frame left out, repeated, or replaced by any other
 * is none of them.
 *
 * Before the include, OWN_FUNCTIONS(F) lists the program's other functions. What these may be
 * given to do:
 *
 *   CHAINS_LOCALS(n)   first line of every function but the leaves; n varies from call to call
 *   CHAINS_LIGHT       what the leaf `light` does; `heavy` does three times as much
 */
#pragma once

#include "chain_functions.h"

#define SHADOW_FUNCTIONS(F) OWN_FUNCTIONS(F) CHAIN_FUNCTIONS(F)

#include "shadow.h"

enum { CHAINS_ROUNDS = 50000, CHAINS_TURNS = 3, CHAINS_WAYS = 4 };

#ifndef CHAINS_LOCALS
#define CHAINS_LOCALS(n)
#endif
#ifndef CHAINS_LIGHT
#define CHAINS_LIGHT shadow_work(CHAINS_ROUNDS)
#endif

static SHADOW_FRAME void light(void)
{
	shadow_push(SHADOW_light);
	shadow_record();
	CHAINS_LIGHT;
	shadow_pop();
}

static SHADOW_FRAME void heavy(void)
{
	shadow_push(SHADOW_heavy);
	shadow_record();
	for (int i = 0; i < 3; i++)
		CHAINS_LIGHT;
	shadow_pop();
}

static SHADOW_FRAME void turn(unsigned int left, unsigned int direction)
{
	CHAINS_LOCALS(direction + left);
	shadow_push(SHADOW_turn);
	if (left > 1)
		turn(left - 1, direction);
	else if (direction % 2)
		heavy();
	else
		light();
	shadow_pop();
}

#define CHAINS_COLOUR(name)                                                                        \
	static SHADOW_FRAME void name(unsigned int direction)                                      \
	{                                                                                          \
		CHAINS_LOCALS(direction);                                                          \
		shadow_push(SHADOW_##name);                                                        \
		turn(CHAINS_TURNS, direction);                                                     \
		shadow_pop();                                                                      \
	}
CHAINS_COLOUR(red)
CHAINS_COLOUR(green)
CHAINS_COLOUR(blue)
CHAINS_COLOUR(black)

static void (*const chains_colours[CHAINS_WAYS])(unsigned int) = { red, green, blue, black };

#define CHAINS_SEASON(name, season)                                                                \
	static SHADOW_FRAME void name(unsigned int direction)                                      \
	{                                                                                          \
		CHAINS_LOCALS(direction);                                                          \
		shadow_push(SHADOW_##name);                                                        \
		chains_colours[(direction + (season)) % CHAINS_WAYS](direction);                   \
		shadow_pop();                                                                      \
	}
CHAINS_SEASON(spring, 0)
CHAINS_SEASON(summer, 1)
CHAINS_SEASON(autumn, 2)
CHAINS_SEASON(winter, 3)

static void (*const chains_seasons[CHAINS_WAYS])(unsigned int) = { spring, summer, autumn, winter };

#define CHAINS_DIRECTION(name, direction)                                                          \
	static SHADOW_FRAME void name(unsigned int season)                                         \
	{                                                                                          \
		CHAINS_LOCALS(season);                                                             \
		shadow_push(SHADOW_##name);                                                        \
		chains_seasons[season](direction);                                                 \
		shadow_pop();                                                                      \
	}
CHAINS_DIRECTION(north, 0)
CHAINS_DIRECTION(east, 1)
CHAINS_DIRECTION(south, 2)
CHAINS_DIRECTION(west, 3)

static void (*const chains_directions[CHAINS_WAYS])(unsigned int) = { north, east, south, west };

/* Goes through chain @number, modulo 16. */
SHADOW_INLINE void chains_run(unsigned int number)
{
	chains_directions[number % CHAINS_WAYS](number / CHAINS_WAYS % CHAINS_WAYS);
}

#if __STDC_HOSTED__
/* All that main does in most programs. */
SHADOW_INLINE int chains_main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);

	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++)
		chains_run(i);
	shadow_pop();
	return 0;
}
#endif
