// SPDX-License-Identifier: Apache-2.0
/* Calls what the program does not have for plugins. */
#include "refused.h"

struct arena *arena_create(size_t max_bytes);

static struct profcol_error *arena_start(void *self)
{
	(void)self;
	return arena_create(0) ? NULL : profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

static const struct profcol_component arena = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.type = "arena",
	.summary = "never runs",
	.options = options,
	.config_size = 1,
	.create = refused_create,
	.start = arena_start,
};

PROFCOL_PLUGIN(&component, &arena);
