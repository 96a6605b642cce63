/* SPDX-License-Identifier: Apache-2.0 */
/* The OTTL conditions of a filter. Immutable once made: any thread. */
#pragma once

#include "config.h"

#include "ottl/ottl.h"

struct condition;
struct conditions;

/* CONFIG errors, one a line, begin with the key they are about. *@ret is the caller's to destroy,
 * and written only on success. */
PROFCOL_MUST_CHECK struct profcol_error *conditions_create(const struct filter_config *config,
							   struct conditions **ret);
void conditions_destroy(struct conditions *conditions); /* accepts NULL */

/* Is there one to be evaluated for each row of this context? */
bool conditions_has(const struct conditions *conditions, enum ottl_context context);

/* What the conditions of a batch could not be evaluated for. */
struct condition_failures {
	uint64_t count; /* of those that are to be logged */
	/* The first of them. */
	const char *text; /* the condition; borrowed */
	char message[OTTL_MESSAGE_SIZE];
	/* The one for which the batch is to be refused; NULL without. */
	const char *refused; /* the condition; borrowed */
	char reason[OTTL_MESSAGE_SIZE];
};

/* Is one of the conditions on @context true at @position? Not after one that refuses the batch. */
bool conditions_match(const struct conditions *conditions, enum ottl_context context,
		      struct ottl_run *run, const struct ottl_position *position,
		      struct condition_failures *failures);
