/* SPDX-License-Identifier: Apache-2.0 */
/* What a resource of a batch says, by the names of its attributes. Private. Pure. */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>

struct resource_view {
	const struct profcol_batch *batch; /* borrowed, as the next */
	const uint32_t *attributes;
	uint32_t count;
};

struct resource_view resource_view_of(const struct profcol_batch *batch, uint32_t row);

/* The first attribute with that key, in *@ret; false when there is none. */
bool resource_view_find(const struct resource_view *view, const char *key,
			struct profcol_value *ret);

/* Empty when there is none, or it is no text; else with a NUL behind it. */
struct profcol_text resource_view_text(const struct resource_view *view, const char *key);
