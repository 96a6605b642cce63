// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <stdlib.h>
#include <string.h>

enum {
	COLUMN_MAX_LENGTH = INT32_MAX, /* ids are int32 on the wire */
	FIRST_BLOCK_BYTES = 512,
};

static const uint8_t cell_sizes[COLUMN_COUNT] = {
	[COLUMN_STRING_END] = sizeof(uint32_t),
	[COLUMN_STRING_BYTES] = sizeof(char),
	[COLUMN_BLOB_END] = sizeof(uint32_t),
	[COLUMN_BLOB_BYTES] = sizeof(char),
	[COLUMN_FUNCTION] = sizeof(struct profcol_function),
	[COLUMN_MAPPING] = sizeof(struct profcol_mapping),
	[COLUMN_LOCATION] = sizeof(struct location_row),
	[COLUMN_LINE] = sizeof(struct profcol_line),
	[COLUMN_STACK_END] = sizeof(uint32_t),
	[COLUMN_STACK_LOCATION] = sizeof(uint32_t),
	[COLUMN_ATTRIBUTE] = sizeof(struct profcol_attribute),
	[COLUMN_ATTRIBUTE_LIST_END] = sizeof(uint32_t),
	[COLUMN_ATTRIBUTE_LIST_ITEM] = sizeof(uint32_t),
	[COLUMN_LINK] = sizeof(struct profcol_link),
	[COLUMN_RESOURCE] = sizeof(struct resource_row),
	[COLUMN_SCOPE] = sizeof(struct scope_row),
	[COLUMN_PROFILE] = sizeof(struct profile_row),
	[COLUMN_SAMPLE_STACK] = sizeof(uint32_t),
	[COLUMN_SAMPLE_ATTRIBUTES] = sizeof(uint32_t),
	[COLUMN_SAMPLE_LINK] = sizeof(uint32_t),
	[COLUMN_SAMPLE_VALUES_END] = sizeof(uint32_t),
	[COLUMN_SAMPLE_TIMESTAMPS_END] = sizeof(uint32_t),
	[COLUMN_VALUE] = sizeof(int64_t),
	[COLUMN_TIMESTAMP] = sizeof(uint64_t),
};

size_t column_cell_size(enum column_id id)
{
	return cell_sizes[id];
}

static size_t block_bytes(enum column_id id, uint32_t capacity)
{
	return sizeof(struct column_block) + (size_t)capacity * cell_sizes[id];
}

/* Acquire: what the last other owner read from the block happened before we write to it. */
static bool column_is_shared(const struct column *column)
{
	return column->block &&
	       atomic_load_explicit(&column->block->references, memory_order_acquire) > 1;
}

/* Give @column a block of its own with @capacity cells, at least as many as are in use. */
static bool column_resize(struct column *column, enum column_id id, uint32_t capacity)
{
	bool shared = column_is_shared(column);
	struct column_block *block = shared ? malloc(block_bytes(id, capacity))
					    : realloc(column->block, block_bytes(id, capacity));

	if (!block)
		return false;
	if (shared) {
		memcpy(block->cells, column->block->cells, (size_t)column->length * cell_sizes[id]);
		column_release(&(struct column){ .block = column->block });
	}
	// Without a block before there was no count either; with one it was ours alone.
	atomic_init(&block->references, 1);
	atomic_init(&block->claimed, column->length);
	block->capacity = capacity;
	column->block = block;
	return true;
}

/* Is the room up to @needed, within the capacity, for @column alone? */
static bool column_claim(struct column *column, uint32_t needed)
{
	struct column_block *block = column->block;
	unsigned int length = column->length;

	if (!block)
		return false;
	if (column_is_shared(column))
		return atomic_compare_exchange_strong_explicit(&block->claimed, &length, needed,
							       memory_order_relaxed,
							       memory_order_relaxed);
	if (atomic_load_explicit(&block->claimed, memory_order_relaxed) < needed)
		atomic_store_explicit(&block->claimed, needed, memory_order_relaxed);
	return true;
}

bool column_reserve(struct column *column, enum column_id id, uint32_t count)
{
	uint32_t needed, capacity = column->block ? column->block->capacity : 0;

	if (count > COLUMN_MAX_LENGTH - column->length)
		return false;
	needed = column->length + count;
	if (!count || (needed <= capacity && column_claim(column, needed)))
		return true;
	if (capacity < FIRST_BLOCK_BYTES / cell_sizes[id])
		capacity = FIRST_BLOCK_BYTES / cell_sizes[id];
	while (capacity < needed)
		capacity = capacity > COLUMN_MAX_LENGTH / 2 ? COLUMN_MAX_LENGTH : capacity * 2;
	if (!column_resize(column, id, capacity))
		return false;
	atomic_store_explicit(&column->block->claimed, needed, memory_order_relaxed);
	return true;
}

void *column_append(struct column *column, enum column_id id, uint32_t count)
{
	void *cells;

	if (!column_reserve(column, id, count))
		return NULL;
	cells = column->block->cells + (size_t)column->length * cell_sizes[id];
	column->length += count;
	return cells;
}

bool column_append_copy(struct column *column, enum column_id id, const void *from, uint32_t count)
{
	size_t used = (size_t)column->length * cell_sizes[id];
	uintptr_t offset = 0;
	bool inside = false;
	void *cells;

	if (!count)
		return true;
	if (column->block) {
		offset = (uintptr_t)from - (uintptr_t)column->block->cells;
		inside = offset < used;
	}
	cells = column_append(column, id, count);
	if (!cells)
		return false;
	memcpy(cells, inside ? column->block->cells + offset : from,
	       (size_t)count * cell_sizes[id]);
	return true;
}

void *column_own(struct column *column, enum column_id id)
{
	if (column_is_shared(column) && !column_resize(column, id, column->length))
		return NULL;
	return column->block ? column->block->cells : NULL;
}

void column_settle(struct column *column)
{
	if (column->block && !column_is_shared(column))
		atomic_store_explicit(&column->block->claimed, column->length,
				      memory_order_relaxed);
}

void column_share(struct column *to, const struct column *from)
{
	struct column shared = *from;

	if (shared.block)
		atomic_fetch_add_explicit(&shared.block->references, 1, memory_order_relaxed);
	column_release(to);
	*to = shared;
}

void column_release(struct column *column)
{
	struct column_block *block = column->block;

	if (block && atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1)
		free(block);
	*column = (struct column){ 0 };
}

size_t column_memory(const struct column *column, enum column_id id)
{
	return column->block ? block_bytes(id, column->block->capacity) : 0;
}
