/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths editors can change, and how. */
#pragma once

#include "paths.h"

struct path_writer {
	const char *owner; /* as the path's; NULL for the cache */
	const char *name;
	unsigned int writes; /* READS_* of what it changes */
	/* Either sets the value, whose bytes may be the builder's, false with a message; ... */
	bool (*write)(struct evaluation *evaluation, const struct value *value);
	/* ... or sets the id of a list of attributes. */
	void (*set_attributes)(struct evaluation *evaluation, uint32_t list);
};

/* How @path is changed; NULL when it cannot be. */
const struct path_writer *path_writer(const struct path *path);

/* Set what the path @node, without keys, is. False with a message. */
bool path_write(struct evaluation *evaluation, const struct node *node, const struct value *value);
