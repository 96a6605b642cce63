// SPDX-License-Identifier: Apache-2.0
#include "prune.h"

#include <stdlib.h>

bool prune_init(struct prune *prune, const struct profcol_batch *from)
{
	size_t rows = 0;

	*prune = (struct prune){ .from = from };
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++)
		rows += profcol_batch_count(from, table);
	prune->ids = calloc(rows, sizeof(*prune->ids));
	if (!prune->ids)
		return false;
	rows = 0;
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++) {
		prune->tables[table] = prune->ids + rows;
		rows += profcol_batch_count(from, table);
		prune_need(prune, table, 0);
	}
	return true;
}

void prune_deinit(struct prune *prune)
{
	free(prune->ids);
}

/* ---- what the needed refers to ---- */

static void need_of_stacks(struct prune *prune)
{
	const uint32_t *ends = COLUMN(prune->from, COLUMN_STACK_END, uint32_t);
	const uint32_t *locations = COLUMN(prune->from, COLUMN_STACK_LOCATION, uint32_t);
	uint32_t count = column_length(prune->from, COLUMN_STACK_END);

	for (uint32_t id = 1; id < count; id++)
		for (uint32_t i = ends[id - 1]; prune->tables[PROFCOL_STACKS][id] && i < ends[id];
		     i++)
			prune_need(prune, PROFCOL_LOCATIONS, locations[i]);
}

static void need_of_locations(struct prune *prune)
{
	const struct location_row *rows = COLUMN(prune->from, COLUMN_LOCATION, struct location_row);
	const struct profcol_line *lines = COLUMN(prune->from, COLUMN_LINE, struct profcol_line);
	uint32_t count = column_length(prune->from, COLUMN_LOCATION);

	for (uint32_t id = 1; id < count; id++) {
		if (!prune->tables[PROFCOL_LOCATIONS][id])
			continue;
		prune_need(prune, PROFCOL_MAPPINGS, rows[id].mapping);
		prune_need(prune, PROFCOL_ATTRIBUTE_LISTS, rows[id].attributes);
		for (uint32_t i = rows[id - 1].lines_end; i < rows[id].lines_end; i++)
			prune_need(prune, PROFCOL_FUNCTIONS, lines[i].function);
	}
}

static void need_of_functions(struct prune *prune)
{
	const struct profcol_function *rows =
		COLUMN(prune->from, COLUMN_FUNCTION, struct profcol_function);
	uint32_t count = column_length(prune->from, COLUMN_FUNCTION);

	for (uint32_t id = 1; id < count; id++) {
		if (!prune->tables[PROFCOL_FUNCTIONS][id])
			continue;
		prune_need(prune, PROFCOL_STRINGS, rows[id].name);
		prune_need(prune, PROFCOL_STRINGS, rows[id].system_name);
		prune_need(prune, PROFCOL_STRINGS, rows[id].filename);
	}
}

static void need_of_mappings(struct prune *prune)
{
	for (uint32_t id = 1; id < profcol_batch_count(prune->from, PROFCOL_MAPPINGS); id++) {
		struct profcol_mapping mapping = profcol_batch_mapping(prune->from, id);

		if (!prune->tables[PROFCOL_MAPPINGS][id])
			continue;
		prune_need(prune, PROFCOL_STRINGS, mapping.filename);
		prune_need(prune, PROFCOL_ATTRIBUTE_LISTS, mapping.attributes);
	}
}

static void need_of_lists(struct prune *prune)
{
	uint32_t lists = profcol_batch_count(prune->from, PROFCOL_ATTRIBUTE_LISTS);

	for (uint32_t id = 1; id < lists; id++) {
		uint32_t count;
		const uint32_t *ids = profcol_batch_attribute_list(prune->from, id, &count);

		if (!prune->tables[PROFCOL_ATTRIBUTE_LISTS][id])
			continue;
		for (uint32_t i = 0; i < count; i++)
			prune_need(prune, PROFCOL_ATTRIBUTES, ids[i]);
	}
}

static bool has_blob(const struct profcol_value *value)
{
	return value->type == PROFCOL_VALUE_BYTES || value->type == PROFCOL_VALUE_ARRAY ||
	       value->type == PROFCOL_VALUE_KVLIST;
}

static void need_of_attributes(struct prune *prune)
{
	for (uint32_t id = 1; id < profcol_batch_count(prune->from, PROFCOL_ATTRIBUTES); id++) {
		struct profcol_attribute attribute = profcol_batch_attribute(prune->from, id);

		if (!prune->tables[PROFCOL_ATTRIBUTES][id])
			continue;
		prune_need(prune, PROFCOL_STRINGS, attribute.key);
		prune_need(prune, PROFCOL_STRINGS, attribute.unit);
		if (attribute.value.type == PROFCOL_VALUE_STRING)
			prune_need(prune, PROFCOL_STRINGS, attribute.value.string);
		else if (has_blob(&attribute.value))
			prune_need(prune, PROFCOL_BLOBS, attribute.value.blob);
	}
}

static void number_all(struct prune *prune)
{
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++) {
		uint32_t rows = profcol_batch_count(prune->from, table), next = 0;
		uint32_t *ids = prune->tables[table];

		// Without a branch, which nobody could predict.
		for (uint32_t id = 0; id < rows; id++) {
			uint32_t mark = ids[id];

			next += mark;
			ids[id] = next & (0 - mark);
		}
	}
}

/* ---- copying ---- */

/* The next needed rows that stand next to each other, from @range.end on. False without. */
static bool next_rows(const struct prune *prune, enum profcol_table table,
		      struct profcol_range *range)
{
	uint32_t rows = profcol_batch_count(prune->from, table);
	const uint32_t *ids = prune->tables[table];

	range->begin = range->end;
	while (range->begin < rows && !ids[range->begin])
		range->begin++;
	range->end = range->begin;
	while (range->end < rows && ids[range->end])
		range->end++;
	return range->begin < rows;
}

/* A column with a row for each entry, or with the cells of such rows, as it is. */
static bool copy_cells(const struct prune *prune, struct profcol_batch *to, enum column_id id,
		       uint32_t begin, uint32_t end)
{
	const unsigned char *cells = column_cells(&prune->from->columns[id]);

	return begin == end ||
	       column_append_copy(&to->columns[id], id, cells + begin * column_cell_size(id),
				  end - begin);
}

static bool copy_records(const struct prune *prune, struct profcol_batch *to,
			 enum profcol_table table, enum column_id id)
{
	struct profcol_range rows = { 0 };

	while (next_rows(prune, table, &rows))
		if (!copy_cells(prune, to, id, rows.begin, rows.end))
			return false;
	return true;
}

/* A table whose rows are runs of @cells_id, which end where @ends_id says. */
static bool copy_runs(const struct prune *prune, struct profcol_batch *to, enum profcol_table table,
		      enum column_id ends_id, enum column_id cells_id)
{
	const uint32_t *ends = COLUMN(prune->from, ends_id, uint32_t);
	struct profcol_range rows = { 0 };

	while (next_rows(prune, table, &rows)) {
		uint32_t begin = column_row_begin(ends, rows.begin);
		uint32_t base = column_length(to, cells_id);
		uint32_t *new_ends;

		if (!copy_cells(prune, to, cells_id, begin, ends[rows.end - 1]))
			return false;
		new_ends = column_append(&to->columns[ends_id], ends_id, rows.end - rows.begin);
		if (!new_ends)
			return false;
		for (uint32_t row = rows.begin; row < rows.end; row++)
			*new_ends++ = ends[row] - begin + base;
	}
	return true;
}

static bool copy_locations(const struct prune *prune, struct profcol_batch *to)
{
	const struct location_row *from = COLUMN(prune->from, COLUMN_LOCATION, struct location_row);
	struct profcol_range rows = { 0 };

	while (next_rows(prune, PROFCOL_LOCATIONS, &rows)) {
		uint32_t begin = rows.begin ? from[rows.begin - 1].lines_end : 0;
		uint32_t base = column_length(to, COLUMN_LINE);
		struct location_row *new_rows;

		if (!copy_cells(prune, to, COLUMN_LINE, begin, from[rows.end - 1].lines_end))
			return false;
		new_rows = column_append(&to->columns[COLUMN_LOCATION], COLUMN_LOCATION,
					 rows.end - rows.begin);
		if (!new_rows)
			return false;
		for (uint32_t row = rows.begin; row < rows.end; row++) {
			*new_rows = from[row];
			new_rows++->lines_end = from[row].lines_end - begin + base;
		}
	}
	return true;
}

/* ---- ids in what is copied ---- */

/* The cells of a column that is the new batch's own. */
#define OWN(batch, id, type) ((type *)column_own(&(batch)->columns[id], id))

static void translate(const struct prune *prune, enum profcol_table table, uint32_t *id)
{
	*id = prune_id(prune, table, *id);
}

static void translate_column(const struct prune *prune, struct profcol_batch *to, enum column_id id,
			     enum profcol_table table)
{
	uint32_t *cells = OWN(to, id, uint32_t);

	for (uint32_t i = 0; i < column_length(to, id); i++)
		translate(prune, table, &cells[i]);
}

static void translate_locations(const struct prune *prune, struct profcol_batch *to)
{
	struct location_row *rows = OWN(to, COLUMN_LOCATION, struct location_row);
	struct profcol_line *lines = OWN(to, COLUMN_LINE, struct profcol_line);

	for (uint32_t i = 0; i < column_length(to, COLUMN_LOCATION); i++) {
		translate(prune, PROFCOL_MAPPINGS, &rows[i].mapping);
		translate(prune, PROFCOL_ATTRIBUTE_LISTS, &rows[i].attributes);
	}
	for (uint32_t i = 0; i < column_length(to, COLUMN_LINE); i++)
		translate(prune, PROFCOL_FUNCTIONS, &lines[i].function);
}

static void translate_functions(const struct prune *prune, struct profcol_batch *to)
{
	struct profcol_function *rows = OWN(to, COLUMN_FUNCTION, struct profcol_function);

	for (uint32_t i = 0; i < column_length(to, COLUMN_FUNCTION); i++) {
		translate(prune, PROFCOL_STRINGS, &rows[i].name);
		translate(prune, PROFCOL_STRINGS, &rows[i].system_name);
		translate(prune, PROFCOL_STRINGS, &rows[i].filename);
	}
}

static void translate_mappings(const struct prune *prune, struct profcol_batch *to)
{
	struct profcol_mapping *rows = OWN(to, COLUMN_MAPPING, struct profcol_mapping);

	for (uint32_t i = 0; i < column_length(to, COLUMN_MAPPING); i++) {
		translate(prune, PROFCOL_STRINGS, &rows[i].filename);
		translate(prune, PROFCOL_ATTRIBUTE_LISTS, &rows[i].attributes);
	}
}

static void translate_attributes(const struct prune *prune, struct profcol_batch *to)
{
	struct profcol_attribute *rows = OWN(to, COLUMN_ATTRIBUTE, struct profcol_attribute);

	for (uint32_t i = 0; i < column_length(to, COLUMN_ATTRIBUTE); i++) {
		translate(prune, PROFCOL_STRINGS, &rows[i].key);
		translate(prune, PROFCOL_STRINGS, &rows[i].unit);
		if (rows[i].value.type == PROFCOL_VALUE_STRING)
			translate(prune, PROFCOL_STRINGS, &rows[i].value.string);
		else if (has_blob(&rows[i].value))
			translate(prune, PROFCOL_BLOBS, &rows[i].value.blob);
	}
}

static bool copy_all(const struct prune *prune, struct profcol_batch *to)
{
	return copy_runs(prune, to, PROFCOL_STRINGS, COLUMN_STRING_END, COLUMN_STRING_BYTES) &&
	       copy_runs(prune, to, PROFCOL_BLOBS, COLUMN_BLOB_END, COLUMN_BLOB_BYTES) &&
	       copy_runs(prune, to, PROFCOL_STACKS, COLUMN_STACK_END, COLUMN_STACK_LOCATION) &&
	       copy_runs(prune, to, PROFCOL_ATTRIBUTE_LISTS, COLUMN_ATTRIBUTE_LIST_END,
			 COLUMN_ATTRIBUTE_LIST_ITEM) &&
	       copy_locations(prune, to) &&
	       copy_records(prune, to, PROFCOL_FUNCTIONS, COLUMN_FUNCTION) &&
	       copy_records(prune, to, PROFCOL_MAPPINGS, COLUMN_MAPPING) &&
	       copy_records(prune, to, PROFCOL_ATTRIBUTES, COLUMN_ATTRIBUTE) &&
	       copy_records(prune, to, PROFCOL_LINKS, COLUMN_LINK);
}

struct profcol_batch *prune_make(struct prune *prune)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *to = batch_create();

	if (!to)
		return NULL;
	// A table after those that refer to it.
	need_of_stacks(prune);
	need_of_locations(prune);
	need_of_functions(prune);
	need_of_mappings(prune);
	need_of_lists(prune);
	need_of_attributes(prune);
	number_all(prune);
	if (!copy_all(prune, to))
		return NULL;
	translate_column(prune, to, COLUMN_STACK_LOCATION, PROFCOL_LOCATIONS);
	translate_column(prune, to, COLUMN_ATTRIBUTE_LIST_ITEM, PROFCOL_ATTRIBUTES);
	translate_locations(prune, to);
	translate_functions(prune, to);
	translate_mappings(prune, to);
	translate_attributes(prune, to);
	return TAKE(to);
}
