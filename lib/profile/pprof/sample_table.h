/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a pprof file being written: those of the batch, with the ones
 * equal in stack and labels added up, one value per column.
 */
#pragma once

#include "labels.h"
#include "value_columns.h"

struct sample_key {
	uint32_t stack;  /* stack id of the batch */
	uint32_t labels; /* label set */
};

struct sample_table {
	VECTOR(struct sample_key) keys;
	VECTOR(int64_t) values; /* as many per key as there are columns */
	struct intern index;    /* over keys */
	bool failed;            /* no memory */
};

/* Sums stop at the limits of int64_t. */
void sample_table_init(struct sample_table *table, const struct profcol_batch *batch,
		       const struct value_columns *columns, struct labels *labels);
void sample_table_deinit(struct sample_table *table);
