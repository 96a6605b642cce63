// SPDX-License-Identifier: Apache-2.0
/*
 * Two chains of 3,000 frames, far beyond what a profiler follows. The order of the three functions
 * in them looks random, so that no part of a chain looks like another: neither a frame left out
 * nor a shift by any number of frames goes unnoticed.
 */
#define SHADOW_DEPTH  4096
#define SHADOW_CHAINS 8
#define SHADOW_FUNCTIONS(F)                                                                        \
	F(main, "main")                                                                            \
	F(stone, "stone")                                                                          \
	F(paper, "paper")                                                                          \
	F(scissors, "scissors")                                                                    \
	F(leaf, "leaf")
#include "shadow.h"

enum { FRAMES = 3000 };

static void next(uint32_t random, unsigned int left);

static SHADOW_FRAME void leaf(void)
{
	shadow_push(SHADOW_leaf);
	shadow_record();
	shadow_work(3000000);
	shadow_pop();
}

#define RECURSIVE(name)                                                                            \
	static SHADOW_FRAME void name(uint32_t random, unsigned int left)                          \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		next(random, left);                                                                \
		shadow_pop();                                                                      \
	}
RECURSIVE(stone)
RECURSIVE(paper)
RECURSIVE(scissors)

SHADOW_INLINE void next(uint32_t random, unsigned int left)
{
	static void (*const functions[])(uint32_t, unsigned int) = { stone, paper, scissors };

	if (!left) {
		leaf();
		return;
	}
	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	functions[random % 3](random, left - 1);
}

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);

	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++)
		next(i % 2 ? 2463534242u : 88675123u, FRAMES);
	return 0;
}
