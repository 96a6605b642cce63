/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions run at addresses of one file, as far as a worker was asked: the answers, also
 * those that there is nothing. What is given out lies in the file's arena, and lives as long.
 *
 * Threads: one at a time.
 */
#pragma once

#include "symbols.h"

#include "../worker/worker.h"

#include "base/base.h"

/* What is known of one address. */
struct known_place {
	uint64_t address;
	const struct symbol_line *lines; /* in the arena; the innermost first */
	uint32_t line_count;             /* 0: nobody knows what runs there */
	uint32_t trace;                  /* of enum runtime_trace */
};

/* All zero is an empty set. */
struct known_lines {
	VECTOR(struct known_place) places; /* by address, each once */
	VECTOR(const char *) texts;        /* in the arena, each once */
	struct intern index;               /* of these */
};

void known_lines_deinit(struct known_lines *known);

/* Forget all; what lies in the arena is somebody else's. */
void known_lines_clear(struct known_lines *known);

size_t known_lines_memory(const struct known_lines *known); /* bytes, without the arena's */

/* Learn an answer about lines, whose addresses ascend, into @arena. False without memory: less is
 * known. */
bool known_lines_learn(struct known_lines *known, struct arena *arena,
		       const struct worker_answer *answer);

/* What is known of @address, or NULL. */
const struct known_place *known_lines_find(const struct known_lines *known, uint64_t address);
