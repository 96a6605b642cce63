/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoded pprof message as a batch: one resource, one scope, and one profile per
 * sample type.
 *
 * - A sample stands in each profile in which it has a value other than 0, or in the
 *   first when it has none.
 * - Labels become attributes of the same name. Several values of one key become one
 *   array, in which a number with a unit is the pair list {value, unit}.
 * - What OTLP has no field for goes into the attributes of keys.h.
 * - Text that is not UTF-8 is repaired ('?' for each bad byte), as pprof itself
 *   tolerates it and OTLP does not.
 *
 * Refused is what pprof refuses: the first thing wrong is named.
 */
#pragma once

#include "any_value.h"
#include "budget.h"
#include "id_map.h"

#include "base/base.h"

#include <profcol/batch.h>

#include <pprof.pb-c.h>

PROFCOL_MUST_CHECK struct profcol_error *
pprof_import(const Perftools__Profile *file, struct budget *budget, struct profcol_batch **ret);

/* ---- shared by the importer's files ---- */

struct importer {
	const Perftools__Profile *file; /* borrowed */
	struct budget *budget;          /* borrowed */
	struct profcol_builder *builder;
	uint32_t *strings; /* by index in the file: string id of the batch, or STRING_UNUSED */
	struct id_map mappings, functions, locations;
	uint32_t *stacks, *attributes; /* by sample of the file */
};

enum { STRING_UNUSED = UINT32_MAX, SAMPLES_BETWEEN_MEMORY_CHECKS = 1024 };

#define PPROF_MALFORMED(...) profcol_error_create(PROFCOL_BAD_DATA, "malformed pprof: " __VA_ARGS__)

struct profcol_error *importer_no_memory(void);

/* BAD_DATA when the arena and the batch have passed the limit together, NO_MEMORY when the share
 * gives no more. */
struct profcol_error *importer_check_memory(const struct importer *importer);

/* Room for @count items in the arena, zeroed; NULL, to be answered by budget_error(). */
void *importer_alloc(struct importer *importer, size_t count, size_t item_size);

/* The string with @index as a string of the batch; @what and @number say who refers to it. */
struct profcol_error *importer_string(struct importer *importer, int64_t index, const char *what,
				      size_t number, uint32_t *ret);

/* A string of the batch as an array's item; borrowed until the next string is added. */
struct any_item importer_item(const struct importer *importer, uint32_t string);

uint32_t importer_attribute_bool(struct importer *importer, const char *key, bool value);
uint32_t importer_attribute_string(struct importer *importer, const char *key, uint32_t string);
struct profcol_error *importer_attribute_array(struct importer *importer, uint32_t key,
					       const struct any_item *items, size_t count,
					       uint32_t *ret);

/* importer_tables.c */
struct profcol_error *importer_add_strings(struct importer *importer);
struct profcol_error *importer_add_tables(struct importer *importer);

/* importer_samples.c: stacks and attributes of all samples, which the columns share */
struct profcol_error *importer_add_stacks(struct importer *importer);
