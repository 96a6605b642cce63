/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What matters of a stack for a comparison: where it begins, where it ends, and whether it was
 * cut. By the same rules for every profiler. One thread at a time.
 */
#pragma once

#include "places.h"

#include <profcol/batch.h>

enum stack_end {
	STACK_CUT,     /* the profiler says so, or there is nothing of user space in it */
	STACK_WHOLE,   /* of a kernel thread, or of a process that gave its memory up */
	STACK_IN_USER, /* ends in user space: whether that is the first function, `end` tells */
};

struct stack_facts {
	uint32_t leaf, end; /* place ids */
	enum stack_end how;
};

/* Of one batch: locations and mappings are looked at once each. */
struct stacks {
	const struct profcol_batch *batch; /* borrowed */
	struct places *places;             /* borrowed */
	bool own;
	struct location_facts *locations; /* owned; by location id */
	struct mapping_facts *mappings;   /* owned; by mapping id */
	struct stack_facts *facts;        /* owned; by stack id */
	bool *known;                      /* owned; is facts[id] set? */
};

/* Looks at all of @batch but its stacks; @places may be in use elsewhere. False without memory. */
bool stacks_init(struct stacks *stacks, const struct profcol_batch *batch, struct places *places,
		 bool own);
void stacks_deinit(struct stacks *stacks);

struct stack_facts stacks_facts(struct stacks *stacks, uint32_t stack);

/* The attribute @key of the list @list in @batch; an empty value when there is none among the
 * first of them. */
struct profcol_value stacks_attribute(const struct profcol_batch *batch, uint32_t list,
				      const char *key);
