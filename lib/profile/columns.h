/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a batch lies in memory. Private to lib/profile; the encoders read these
 * columns directly.
 *
 * A column is an array of fixed-size cells in a reference-counted block. Batches
 * and builders that come from one another share blocks; whoever wants to write
 * to a shared one copies it first, so adding an attribute to every sample copies
 * two columns and no dictionary.
 *
 * A row with a variable part stores where that part ends in the column below
 * (`*_end`); it begins where the row before ends. Row 0 of a dictionary table
 * is its zero value.
 */
#pragma once

#include <profcol/batch.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum column_id {
	COLUMN_STRING_END, /* uint32_t, byte after the string's NUL in STRING_BYTES */
	COLUMN_STRING_BYTES,
	COLUMN_BLOB_END, /* uint32_t, byte after the blob's (uncounted) NUL */
	COLUMN_BLOB_BYTES,
	COLUMN_FUNCTION,              /* struct profcol_function */
	COLUMN_MAPPING,               /* struct profcol_mapping */
	COLUMN_LOCATION,              /* struct location_row */
	COLUMN_LINE,                  /* struct profcol_line */
	COLUMN_STACK_END,             /* uint32_t, in STACK_LOCATION */
	COLUMN_STACK_LOCATION,        /* uint32_t location ids, leaf first */
	COLUMN_ATTRIBUTE,             /* struct profcol_attribute */
	COLUMN_ATTRIBUTE_LIST_END,    /* uint32_t, in ATTRIBUTE_LIST_ITEM */
	COLUMN_ATTRIBUTE_LIST_ITEM,   /* uint32_t attribute ids */
	COLUMN_LINK,                  /* struct profcol_link */
	COLUMN_RESOURCE,              /* struct resource_row */
	COLUMN_SCOPE,                 /* struct scope_row */
	COLUMN_PROFILE,               /* struct profile_row */
	COLUMN_SAMPLE_STACK,          /* uint32_t */
	COLUMN_SAMPLE_ATTRIBUTES,     /* uint32_t attribute list id */
	COLUMN_SAMPLE_LINK,           /* uint32_t */
	COLUMN_SAMPLE_VALUES_END,     /* uint32_t, in VALUE */
	COLUMN_SAMPLE_TIMESTAMPS_END, /* uint32_t, in TIMESTAMP */
	COLUMN_VALUE,                 /* int64_t */
	COLUMN_TIMESTAMP,             /* uint64_t, Unix ns */
	COLUMN_COUNT,
};

struct location_row {
	uint64_t address;
	uint32_t mapping;
	uint32_t attributes;
	uint32_t lines_end; /* in COLUMN_LINE */
};

struct resource_row {
	struct profcol_resource resource;
	uint32_t scopes_end;
};

struct scope_row {
	struct profcol_scope scope;
	uint32_t profiles_end;
};

struct profile_row {
	struct profcol_profile profile;
	uint32_t samples_end;
};

/*
 * Cells below a column's length never change while the block is shared. So one of those that share
 * it may append in place, where nobody else has: `claimed` is never below the length of any column
 * on this block, and who moves it on from its own length has the cells in between for itself.
 */
struct column_block {
	atomic_uint references;
	atomic_uint claimed; /* cells */
	uint32_t capacity;   /* cells */
	_Alignas(16) unsigned char cells[];
};

struct column {
	struct column_block *block; /* NULL while empty */
	uint32_t length;            /* cells in use; never above 2^31 - 1 */
};

struct sealed_index; /* sealed_index.h */

struct profcol_batch {
	atomic_uint references;
	struct column columns[COLUMN_COUNT];
	bool has_unused;            /* in the dictionary: text that was removed */
	struct sealed_index *index; /* a reference; NULL while being built, or without */
};

/* Bytes of a cell of column @id. */
size_t column_cell_size(enum column_id id);

/* The cells of a column of @batch as a typed array, NULL while empty. */
#define COLUMN(batch, id, type) ((const type *)column_cells(&(batch)->columns[id]))

static inline const void *column_cells(const struct column *column)
{
	return column->block ? column->block->cells : NULL;
}

static inline uint32_t column_length(const struct profcol_batch *batch, enum column_id id)
{
	return batch->columns[id].length;
}

/* Where row @row of an `_end` column begins in the column below. */
static inline uint32_t column_row_begin(const uint32_t *ends, uint32_t row)
{
	return row ? ends[row - 1] : 0;
}

/*
 * Make room for @count more cells at the end of @column, which nobody else will write to. False
 * without memory or past 2^31 - 1 cells; the column is then unchanged.
 */
bool column_reserve(struct column *column, enum column_id id, uint32_t count);

/* As above with @count > 0, and count them in: the first of the new cells, or NULL. */
void *column_append(struct column *column, enum column_id id, uint32_t count);

/*
 * Append a copy of the @count cells at @from, which may lie in this very column.
 * False as above.
 */
bool column_append_copy(struct column *column, enum column_id id, const void *from, uint32_t count);

/*
 * The cells of @column, which has some, for writing in place: copied first when
 * shared. NULL without memory.
 */
void *column_own(struct column *column, enum column_id id);

/* No more is appended here: the room behind the last cell is free to whoever shares @column. */
void column_settle(struct column *column);

void column_share(struct column *to, const struct column *from);
void column_release(struct column *column);

/* Bytes of the block behind @column. */
size_t column_memory(const struct column *column, enum column_id id);

/* An empty batch with one reference: no rows, not even the zero values. NULL without memory. */
struct profcol_batch *batch_create(void);
