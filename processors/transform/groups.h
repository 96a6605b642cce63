/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of a `transform`, compiled, in groups. Immutable once made: any thread. */
#pragma once

#include "config.h"

#include "base/base.h"

#include <profcol/errors.h>

/* What is carried out one behind the other for each row of a context. */
struct group {
	enum ottl_context context;
	enum error_mode error_mode;
	VECTOR(struct ottl_condition *) conditions; /* owned; one of them has to be true */
	VECTOR(struct ottl_statement *) statements; /* owned */
	unsigned int reads, writes;                 /* OTTL_PART_* of all of them */
};

struct groups {
	VECTOR(struct group) items;
};

/* CONFIG errors, one a line, begin with the key they are about. On error, what is there is the
 * caller's to deinit. */
PROFCOL_MUST_CHECK struct profcol_error *groups_init(struct groups *groups,
						     const struct transform_config *config);
void groups_deinit(struct groups *groups); /* accepts a zeroed one */
