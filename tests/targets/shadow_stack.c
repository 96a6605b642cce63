// SPDX-License-Identifier: Apache-2.0
/*
 * A program that knows its own call chains (shadow.h), the sixteen of chains.h:
 * shadow_stack FILE [ROUNDS], endless without ROUNDS. `light` and `heavy` work 1 : 3, for random
 * times: turns that are all as long would keep step with the profiler's timer.
 */
#include <stdint.h>

/* From half of the @usual ones to one and a half times as many. */
static inline __attribute__((always_inline)) unsigned int random_rounds(unsigned int usual)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223; // its high bits are as good as random
	return usual / 2 + (unsigned int)((uint64_t)state * usual >> 32);
}

#define OWN_FUNCTIONS(F) F(main, "main")
#define CHAINS_LIGHT     shadow_work(random_rounds(CHAINS_ROUNDS))
#include "chains.h"

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
