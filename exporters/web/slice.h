/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a stretch of time, added up. Private to the history. */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids are the history's. */
struct slice_row {
	uint32_t series, stack, attributes, link;
	int64_t value;
};

struct slice {
	uint64_t begin_ns, width_ns;   /* where it lies in time: [begin, begin + width) */
	uint64_t first_ns, last_ns;    /* what its windows cover, which may reach beyond */
	uint64_t events;               /* as the account counts them */
	VECTOR(struct slice_row) rows; /* sorted and without equal ones, once settled */
	bool is_settled;
};

void slice_deinit(struct slice *slice);

/* Append @row, which is counted as @events. False without memory. */
bool slice_add(struct slice *slice, const struct slice_row *row, uint64_t events);

/* Sort the rows, add up those that differ in their value alone, and give back what is left over. */
void slice_settle(struct slice *slice);

/* Move all of @from, which is empty afterwards, to @to. False without memory: nothing is moved. */
bool slice_join(struct slice *to, struct slice *from);

size_t slice_memory(const struct slice *slice); /* bytes */

/* Their sum; the nearest number where that does not fit. */
int64_t slice_sum(int64_t left, int64_t right);
