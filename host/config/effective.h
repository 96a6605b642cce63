/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded options back to values: what a component really runs with, defaults included. */
#pragma once

#include <profcol/options.h>

#include <stdbool.h>

/* What stands for a secret. */
#define REDACTED "[REDACTED]"

struct arena;
struct emitter;

/*
 * A map of all keys of @table in the order of the alphabet, with the values that the struct at
 * @base has. @redacted: secrets and values of maps are [REDACTED]. Sections that are absent
 * and what was not given are null. False without memory.
 */
bool effective_emit(struct emitter *emitter, const struct profcol_option *table, const void *base,
		    bool redacted);

/* The same as one line with its secrets, in @memory: equal for equal options. NULL without
 * memory. */
const char *effective_text(struct arena *memory, const struct profcol_option *table,
			   const void *base);
