// SPDX-License-Identifier: Apache-2.0
#include "walk_programs.h"

void walk_programs_init(struct walk_programs *programs)
{
	*programs = (struct walk_programs){ .count = 1 };
}

/* The one that is ready and knows most of @runtimes, and nothing else; 0. */
static uint32_t find_ready(const struct walk_programs *programs, uint32_t runtimes)
{
	uint32_t found = 0;
	int most = 0;

	for (uint32_t i = 1; i < programs->count; i++) {
		const struct walk_program *item = &programs->items[i];
		int knows = __builtin_popcount(item->runtimes);

		if (item->state != WALK_PROGRAM_READY || item->runtimes & ~runtimes ||
		    knows <= most)
			continue;
		found = i;
		most = knows;
	}
	return found;
}

uint32_t walk_programs_find(struct walk_programs *programs, uint32_t runtimes)
{
	uint32_t i = 1;

	if (!programs->apart || !runtimes)
		return 0;
	while (i < programs->count && programs->items[i].runtimes != runtimes)
		i++;
	if (i == programs->count && i < UNWIND_PROGRAMS)
		programs->items[programs->count++] =
			(struct walk_program){ runtimes, WALK_PROGRAM_WANTED };
	return find_ready(programs, runtimes);
}

uint32_t walk_programs_next(struct walk_programs *programs, uint32_t *runtimes_ret)
{
	for (uint32_t i = 1; i < programs->count; i++) {
		if (programs->items[i].state != WALK_PROGRAM_WANTED)
			continue;
		programs->items[i].state = WALK_PROGRAM_ASKED;
		*runtimes_ret = programs->items[i].runtimes;
		return i;
	}
	return 0;
}

void walk_programs_learn(struct walk_programs *programs, uint32_t number, bool ready)
{
	programs->items[number].state = ready ? WALK_PROGRAM_READY : WALK_PROGRAM_REFUSED;
}
