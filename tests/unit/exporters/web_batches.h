/* SPDX-License-Identifier: Apache-2.0 */
/* Batches drawn by chance, and their sums, for tests of the exporter web. */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>
#include <stdint.h>

struct web_chance {
	uint64_t state; /* not 0 */
};

uint64_t web_chance_below(struct web_chance *chance, uint64_t limit);

/*
 * Two resources with two kinds of samples each ("samples"/"count", "cpu"/"nanoseconds"), on stacks
 * of a pool of functions that all batches share but for one of @number; of a window of five seconds
 * that begins at @start_ns.
 */
struct profcol_batch *web_batch(struct web_chance *chance, uint32_t number, uint64_t start_ns);

/* The sum of all values of samples of @type. */
int64_t web_batch_sum(const struct profcol_batch *batch, const char *type);

/* As lines "type resource stack attributes value", equal ones added up, sorted: the caller's to
 * free(). Times are not in them. */
char *web_batches_text(struct profcol_batch *const *batches, size_t count);
