// SPDX-License-Identifier: Apache-2.0
#include "walk_programs.h"

void walk_programs_init(struct walk_programs *programs)
{
	*programs = (struct walk_programs){ .count = 1 };
}

uint32_t walk_programs_find(struct walk_programs *programs, uint32_t runtimes)
{
	if (!programs->apart || !runtimes)
		return 0;
	for (uint32_t i = 1; i < programs->count; i++)
		if (programs->items[i].runtimes == runtimes)
			return programs->items[i].state == WALK_PROGRAM_READY ? i : 0;
	if (programs->count < UNWIND_PROGRAMS)
		programs->items[programs->count++] =
			(struct walk_program){ runtimes, WALK_PROGRAM_WANTED };
	return 0;
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
