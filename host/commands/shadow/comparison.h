/* SPDX-License-Identifier: Apache-2.0 */
/* What two profilers agree on, service by service. */
#pragma once

#include "tally.h"

enum { COMPARISON_HOTTEST = 10 };

struct comparison_function {
	const char *name;              /* "" = whatever has no name in that file */
	const char *file;              /* the last part of its path; "" = none */
	uint64_t samples[TALLY_SIDES]; /* in the function itself */
};

struct comparison_service {
	const char *name;
	uint64_t samples[TALLY_SIDES];
	uint64_t whole[TALLY_SIDES]; /* of these, with complete stacks */

	/*
	 * Of the hottest functions: 0 to 1, what both give them of the service's samples, over the
	 * mean of what each does. NaN when one side has no samples.
	 */
	double agreement;
	double expected; /* what two samplings of the same would come to, by chance alone */
	double by_file;  /* the part of it that has no names: compared file by file */
	struct comparison_function hottest[COMPARISON_HOTTEST];
	size_t hottest_count;
};

/* Texts are borrowed from the tally. */
struct comparison {
	struct comparison_service all;
	VECTOR(struct comparison_service) services; /* the largest first */
};

/* @tally is closed and borrowed. False without memory. */
bool comparison_init(struct comparison *comparison, const struct tally *tally);
void comparison_deinit(struct comparison *comparison);
