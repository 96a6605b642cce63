/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of slices refer to: the dictionary of all that is kept, and the series, each of
 * which is a resource, a scope and a kind of sample. Private to the history; one thread at a time.
 */
#pragma once

#include "slice.h"

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series_table;

struct series_table *series_table_create(void);               /* NULL without memory */
void series_table_destroy(struct series_table *table);        /* accepts NULL */
size_t series_table_memory(const struct series_table *table); /* bytes */

/* False once something could not be added for want of memory or of ids: ids are wrong then. */
bool series_table_is_whole(const struct series_table *table);

/* Kinds of samples: type and unit, in the order of their first appearance. */
size_t series_table_kind_count(const struct series_table *table);
void series_table_kind(const struct series_table *table, size_t kind, const char **type_ret,
		       const char **unit_ret); /* borrowed until the table changes */
size_t series_table_kind_of(const struct series_table *table, uint32_t series);

/* Keys of attributes, each once: borrowed until the table changes. Returns how many, at most @max.
 */
size_t series_table_keys(const struct series_table *table, const char **keys, size_t max);

/* ---- taking in a batch ---- */

struct series_intake;

/* Both are borrowed. NULL without memory. */
struct series_intake *series_intake_create(struct series_table *table,
					   const struct profcol_batch *batch);
void series_intake_destroy(struct series_intake *intake); /* accepts NULL */

/* The series of @profile, whose window does not matter. False without memory. */
bool series_intake_series(struct series_intake *intake, const struct profcol_resource *resource,
			  const struct profcol_scope *scope, const struct profcol_profile *profile,
			  uint32_t *ret);

/* Set stack, attributes and link of @row to the table's ids for those of @sample. */
void series_intake_sample(struct series_intake *intake, const struct profcol_sample *sample,
			  struct slice_row *row);

/* ---- making the table anew, with what is in use ---- */

struct series_renewal;

struct series_renewal *series_renewal_create(const struct series_table *old); /* NULL: no memory */
void series_renewal_destroy(struct series_renewal *renewal);                  /* accepts NULL */

/* First for each row that is in use; then, once the renewal is finished, the same rows get their
 * new ids. */
void series_renewal_need(struct series_renewal *renewal, const struct slice_row *row);
void series_renewal_apply(struct series_renewal *renewal, struct slice_row *row);

/* The new table, the caller's; NULL without memory. */
struct series_table *series_renewal_finish(struct series_renewal *renewal);

/* ---- reading rows as a batch ---- */

struct series_reading;

struct series_reading *
series_reading_create(const struct series_table *table);     /* NULL: no memory */
void series_reading_destroy(struct series_reading *reading); /* accepts NULL */
bool series_reading_add(struct series_reading *reading, const struct slice_row *rows,
			size_t count); /* false without memory */

/* All rows as a batch whose profiles have this window. Its dictionary is that of the whole table:
 * to be compacted. */
PROFCOL_MUST_CHECK struct profcol_error *series_reading_finish(struct series_reading *reading,
							       uint64_t time_unix_ns,
							       uint64_t duration_ns,
							       struct profcol_batch **ret);
