/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which program walks the stacks of processes with which runtimes: one for each set of them, loaded
 * when the first such process is met, by whoever asks here. One thread at a time.
 */
#pragma once

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum walk_program_state {
	WALK_PROGRAM_WANTED,
	WALK_PROGRAM_ASKED,
	WALK_PROGRAM_READY,
	WALK_PROGRAM_REFUSED
};

struct walk_programs {
	bool apart; /* else the sampler walks all */
	struct walk_program {
		uint32_t runtimes; /* 1 << enum runtime_number each */
		enum walk_program_state state;
	} items[UNWIND_PROGRAMS]; /* by number; that of the sampler, the first, is not used */
	size_t count;
};

void walk_programs_init(struct walk_programs *programs);

/* The number of the one that knows @runtimes. While there is none it is wanted, and another one
 * does that knows some of them; 0: none does. */
uint32_t walk_programs_find(struct walk_programs *programs, uint32_t runtimes);

/* What to load next: its number; 0: nothing is wanted. */
uint32_t walk_programs_next(struct walk_programs *programs, uint32_t *runtimes_ret);

/* Number @number is loaded, or the kernel has refused it. */
void walk_programs_learn(struct walk_programs *programs, uint32_t number, bool ready);
