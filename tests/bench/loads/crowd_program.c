// SPDX-License-Identifier: Apache-2.0
/*
 * One of the many of `crowd`: `crowd_program PER_MILLE SEED` walks through its own code
 * (cold_text.py) for about a millisecond, which is a unit, and rests.
 */
#include "pace.h"
#include "unit.h"

#define WALKS 256 // of a unit

/* From the code that cold_text.py prints. */
uint32_t cold_walk(uint32_t state);

static uint32_t crowd_walk(void)
{
	uint32_t state = 2654435761u;

	for (unsigned int i = 0; i < WALKS; i++)
		state = cold_walk(state);
	return state;
}

int main(int argc, char **argv)
{
	struct pace pace;

	pace_init(&pace, argc - 1, argv + 1);
	for (;;) {
		unit_report(STDOUT_FILENO, crowd_walk());
		pace_rest(&pace);
	}
}
