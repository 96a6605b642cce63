// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include "_cgo_export.h"

uint32_t chains_open(char *path, char *rounds)
{
	char *argv[] = { (char *)"cgo", path, rounds };

	return shadow_open(rounds ? 3 : 2, argv);
}

struct shadow_slot *chains_slot(void)
{
	return &shadow->slot[0];
}

static SHADOW_FRAME void leaf(void)
{
	shadow_push(SHADOW_leaf);
	shadow_record();
	shadow_work(ROUNDS);
	shadow_pop();
}

#define COLOUR(name)                                                                               \
	static SHADOW_FRAME void name(unsigned int direction)                                      \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		if (direction % 2)                                                                 \
			back();                                                                    \
		else                                                                               \
			leaf();                                                                    \
		shadow_pop();                                                                      \
	}
COLOUR(red)
COLOUR(green)
COLOUR(blue)
COLOUR(black)

static void (*const colours[])(unsigned int) = { red, green, blue, black };

#define SEASON(name, season)                                                                       \
	SHADOW_FRAME void name(unsigned int direction)                                             \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		colours[(direction + (season)) % 4](direction);                                    \
		shadow_pop();                                                                      \
	}
SEASON(spring, 0)
SEASON(summer, 1)
SEASON(autumn, 2)
SEASON(winter, 3)
