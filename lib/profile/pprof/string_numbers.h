/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The string table of a pprof file being written: numbers in the order of first
 * use, 0 the empty string. Only strings that something uses get one.
 *
 * Running out of memory sets `failed`, to be asked once at the end.
 */
#pragma once

#include "base/base.h"

#include <profcol/batch.h>

struct string_numbers {
	const struct profcol_batch *batch; /* borrowed */
	uint32_t *numbers;                 /* by the batch's string id; 0 = none yet */
	VECTOR(struct profcol_text) texts; /* by number; in the batch or in the arena */
	struct intern index;               /* over texts */
	uint64_t seed;                     /* random: the texts may come from hostile files */
	struct arena *arena;               /* texts that are not in the batch */
	uint32_t empty_value;
	bool failed;
};

void string_numbers_init(struct string_numbers *strings, const struct profcol_batch *batch);
void string_numbers_deinit(struct string_numbers *strings);

/* The number of string @id of the batch. */
uint32_t string_numbers_get(struct string_numbers *strings, uint32_t id);

/* The number of a text that is copied when new. */
uint32_t string_numbers_add(struct string_numbers *strings, const char *bytes, size_t length);

/*
 * A number other than 0 for the empty string: readers take a label with string 0
 * and number 0 for no label at all.
 */
uint32_t string_numbers_empty_value(struct string_numbers *strings);
