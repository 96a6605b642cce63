/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of conditions over one batch. */
#pragma once

#include "evaluate.h"

/* What one call has matched with, in one run. */
struct pattern_use {
	struct ottl_pattern
		*pattern; /* owned: of a call whose pattern is no literal, the last one */
	char *text;       /* owned: what it was made from */
	size_t length;
};

/* One part of a condition, by the entry of its table. */
struct memo {
	uint8_t *results; /* owned: 0 = unknown, else 1 + enum ottl_result; NULL before first use */
	uint32_t count;
	char *message; /* owned: of the last OTTL_ERROR among them */
};

struct condition_state {
	const struct ottl_condition *condition;
	struct memo *memos;           /* owned */
	struct pattern_use *patterns; /* owned */
	uint32_t memo_count, pattern_count;
};

struct ottl_run {
	const struct profcol_batch *batch;
	VECTOR(struct condition_state) states;
	size_t next_state; /* to look at first: conditions are asked in turn, over and over */
	struct scratch scratch;
	struct ottl_budget matches;
	/* While rows are edited: */
	struct profcol_builder *builder; /* borrowed; NULL in a run that only reads */
	struct value cache;              /* a map, in `cache_memory` */
	struct scratch cache_memory;
	bool has_removed;
	char message[OTTL_MESSAGE_SIZE];
};

/* The state of @condition in @run, made at first use. NULL without memory. */
struct condition_state *run_state(struct ottl_run *run, const struct ottl_condition *condition);

/*
 * Where the result of a node for entry @id of its table is kept; NULL when it is not: without
 * memory, or for an id outside of the table.
 */
uint8_t *run_memo(struct ottl_run *run, struct condition_state *state, uint32_t slot, uint32_t id);

/* Keep the message of an OTTL_ERROR with its memo, and get it back. */
void run_memo_save_message(struct ottl_run *run, struct condition_state *state, uint32_t slot);
void run_memo_load_message(struct ottl_run *run, const struct condition_state *state,
			   uint32_t slot);
