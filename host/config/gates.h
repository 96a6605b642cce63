/* SPDX-License-Identifier: Apache-2.0 */
/* --feature-gates: what is experimental in the Collector, and what becomes of it here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct problems;

struct gate {
	const char *id;
	const char *stage;   /* the Collector's: "Alpha", "Beta", "Stable" */
	bool enabled;        /* here; it stays so */
	const char *doc;     /* what it does in the Collector */
	const char *instead; /* why it has no effect here; NULL: it is as one would expect */
};

/* Sorted by id; constant. */
extern const struct gate gates[];
extern const size_t gate_count;

/* NULL for any other word. */
const struct gate *gates_find(const char *id);

/*
 * Check words as `+id`, `-id` and `id`: unknown ones, and profiles switched off, are problems; a
 * change that profcol does not make is a warning.
 */
void gates_check(struct problems *problems, const char *const *words, size_t count);
