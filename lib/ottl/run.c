// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <stdio.h>
#include <string.h>

struct ottl_run *ottl_run_create(const struct profcol_batch *batch)
{
	struct ottl_run *run = calloc(1, sizeof(*run));

	if (run) {
		run->batch = batch;
		run->cache.type = VALUE_MAP;
	}
	return run;
}

struct ottl_run *ottl_run_create_editing(struct profcol_builder *builder)
{
	struct ottl_run *run = ottl_run_create(profcol_builder_peek(builder));

	if (run)
		run->builder = builder;
	return run;
}

void ottl_run_begin_row(struct ottl_run *run)
{
	run->cache = (struct value){ .type = VALUE_MAP };
	scratch_reset(&run->cache_memory);
}

bool ottl_run_has_removed(const struct ottl_run *run)
{
	return run->has_removed;
}

static void state_deinit(struct condition_state *state, uint32_t memo_count, uint32_t pattern_count)
{
	for (uint32_t i = 0; state->memos && i < memo_count; i++) {
		free(state->memos[i].results);
		free(state->memos[i].message);
	}
	for (uint32_t i = 0; state->patterns && i < pattern_count; i++) {
		ottl_pattern_destroy(state->patterns[i].pattern);
		free(state->patterns[i].text);
	}
	free(state->memos);
	free(state->patterns);
}

void ottl_run_destroy(struct ottl_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->states.count; i++) {
		struct condition_state *state = &run->states.items[i];

		state_deinit(state, state->memo_count, state->pattern_count);
	}
	VECTOR_DEINIT(&run->states);
	scratch_deinit(&run->scratch);
	scratch_deinit(&run->cache_memory);
	free(run);
}

const char *ottl_run_message(const struct ottl_run *run)
{
	return run->message;
}

struct condition_state *run_state(struct ottl_run *run, const struct ottl_condition *condition)
{
	struct condition_state state = {
		.condition = condition,
		.memo_count = condition->memo_count,
		.pattern_count = condition->pattern_count,
	};

	for (size_t i = 0, at = run->next_state; i < run->states.count; i++, at++) {
		if (at >= run->states.count)
			at = 0;
		if (run->states.items[at].condition == condition) {
			run->next_state = at + 1;
			return &run->states.items[at];
		}
	}
	state.memos = calloc((size_t)state.memo_count + 1, sizeof(*state.memos));
	state.patterns = calloc((size_t)state.pattern_count + 1, sizeof(*state.patterns));
	if (!state.memos || !state.patterns || !VECTOR_PUSH(&run->states, state)) {
		state_deinit(&state, state.memo_count, state.pattern_count);
		return NULL;
	}
	return &run->states.items[run->states.count - 1];
}

uint8_t *run_memo(struct ottl_run *run, struct condition_state *state, uint32_t slot, uint32_t id)
{
	static const enum profcol_table tables[] = {
		[MEMO_RESOURCES] = PROFCOL_RESOURCES,
		[MEMO_SCOPES] = PROFCOL_SCOPES,
		[MEMO_PROFILES] = PROFCOL_PROFILES,
		[MEMO_ATTRIBUTE_LISTS] = PROFCOL_ATTRIBUTE_LISTS,
		[MEMO_STACKS] = PROFCOL_STACKS,
		[MEMO_FUNCTIONS] = PROFCOL_FUNCTIONS,
		[MEMO_LOCATIONS] = PROFCOL_LOCATIONS,
		[MEMO_MAPPINGS] = PROFCOL_MAPPINGS,
	};
	struct memo *memo = &state->memos[slot];

	if (!memo->results) {
		memo->count =
			profcol_batch_count(run->batch, tables[state->condition->memos[slot]]);
		memo->results = calloc((size_t)memo->count + 1, 1);
	}
	return memo->results && id < memo->count ? &memo->results[id] : NULL;
}

void run_memo_save_message(struct ottl_run *run, struct condition_state *state, uint32_t slot)
{
	struct memo *memo = &state->memos[slot];

	if (!memo->message)
		memo->message = malloc(OTTL_MESSAGE_SIZE);
	if (memo->message)
		memcpy(memo->message, run->message, OTTL_MESSAGE_SIZE);
}

void run_memo_load_message(struct ottl_run *run, const struct condition_state *state, uint32_t slot)
{
	const char *message = state->memos[slot].message;

	snprintf(run->message, sizeof(run->message), "%s", message ? message : "no memory");
}
