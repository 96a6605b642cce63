// SPDX-License-Identifier: Apache-2.0
/* Life of a builder and its tree: resources, scopes, profiles, samples. */
#include "builder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Takes over the reference to @base, which may be NULL. */
static struct profcol_builder *builder_alloc(struct sealed_index *base)
{
	struct profcol_builder *builder = calloc(1, sizeof(*builder));

	if (builder)
		builder->batch = batch_create();
	if (!builder || !builder->batch) {
		sealed_index_unref(base);
		free(builder);
		return NULL;
	}
	builder->base = base;
	// Early in boot there may be no randomness yet; an address will do then.
	if (base)
		builder->hash_seed = base->hash_seed;
	else if (getrandom(&builder->hash_seed, sizeof(builder->hash_seed), GRND_NONBLOCK) < 0)
		builder->hash_seed = (uintptr_t)builder;
	return builder;
}

void profcol_builder_destroy(struct profcol_builder *builder)
{
	if (!builder)
		return;
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++)
		intern_deinit(&builder->indexes[table]);
	sealed_index_unref(builder->base);
	profcol_batch_unref(builder->batch);
	free(builder);
}

struct profcol_builder *profcol_builder_create(void)
{
	struct profcol_builder *builder = builder_alloc(NULL);

	if (builder && !dictionary_init(builder)) {
		profcol_builder_destroy(builder);
		return NULL;
	}
	return builder;
}

/* What is open at the end of @batch. */
static enum builder_depth builder_find_depth(const struct profcol_batch *batch)
{
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_range children;

	if (!resources)
		return BUILDER_NOTHING_OPEN;
	profcol_batch_resource(batch, resources - 1, &children);
	if (children.begin == children.end)
		return BUILDER_RESOURCE_OPEN;
	profcol_batch_scope(batch, children.end - 1, &children);
	return children.begin == children.end ? BUILDER_SCOPE_OPEN : BUILDER_PROFILE_OPEN;
}

struct profcol_builder *profcol_builder_from(const struct profcol_batch *batch)
{
	struct profcol_builder *builder = builder_alloc(sealed_index_ref(batch->index));

	if (!builder)
		return NULL;
	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		column_share(&builder->batch->columns[id], &batch->columns[id]);
	for (unsigned int table = 0; table < ALL_TABLES; table++)
		builder->checked[table] = profcol_batch_count(batch, table);
	builder->batch->has_unused = batch->has_unused;
	builder->depth = builder_find_depth(batch);
	return builder;
}

const struct profcol_batch *profcol_builder_peek(const struct profcol_builder *builder)
{
	return builder->batch;
}

/* ---- rows ---- */

/* May a child be added to a parent of @depth? Notes the first @what that may not. */
static bool builder_has_parent(struct profcol_builder *builder, enum builder_depth depth,
			       const char *what)
{
	if (builder->depth >= depth)
		return true;
	if (!builder->misplaced)
		builder->misplaced = what;
	return false;
}

static uint32_t builder_out_of_memory(struct profcol_builder *builder)
{
	builder->out_of_memory = true;
	return 0;
}

/* The last row of a table of the tree, for writing; the table is not empty. */
static void *builder_last_row(struct profcol_builder *builder, enum column_id id)
{
	struct column *column = &builder->batch->columns[id];
	unsigned char *cells = column_own(column, id);

	return cells ? cells + (column->length - 1) * column_cell_size(id) : NULL;
}

/* A new, zeroed row. */
static void *builder_new_row(struct profcol_builder *builder, enum column_id id)
{
	void *row = column_append(&builder->batch->columns[id], id, 1);

	return row ? memset(row, 0, column_cell_size(id)) : NULL;
}

uint32_t profcol_builder_add_resource(struct profcol_builder *builder,
				      const struct profcol_resource *resource)
{
	struct resource_row *row = builder_new_row(builder, COLUMN_RESOURCE);

	if (!row)
		return builder_out_of_memory(builder);
	row->resource = *resource;
	row->scopes_end = column_length(builder->batch, COLUMN_SCOPE);
	builder->depth = BUILDER_RESOURCE_OPEN;
	return column_length(builder->batch, COLUMN_RESOURCE) - 1;
}

uint32_t profcol_builder_add_scope(struct profcol_builder *builder,
				   const struct profcol_scope *scope)
{
	struct resource_row *parent;
	struct scope_row *row;

	if (!builder_has_parent(builder, BUILDER_RESOURCE_OPEN, "scope added without a resource"))
		return 0;
	parent = builder_last_row(builder, COLUMN_RESOURCE);
	row = parent ? builder_new_row(builder, COLUMN_SCOPE) : NULL;
	if (!row)
		return builder_out_of_memory(builder);
	row->scope = *scope;
	row->profiles_end = column_length(builder->batch, COLUMN_PROFILE);
	parent->scopes_end = column_length(builder->batch, COLUMN_SCOPE);
	builder->depth = BUILDER_SCOPE_OPEN;
	return parent->scopes_end - 1;
}

uint32_t profcol_builder_add_profile(struct profcol_builder *builder,
				     const struct profcol_profile *profile)
{
	struct scope_row *parent;
	struct profile_row *row;

	if (!builder_has_parent(builder, BUILDER_SCOPE_OPEN, "profile added without a scope"))
		return 0;
	parent = builder_last_row(builder, COLUMN_SCOPE);
	row = parent ? builder_new_row(builder, COLUMN_PROFILE) : NULL;
	if (!row)
		return builder_out_of_memory(builder);
	row->profile = *profile;
	row->samples_end = column_length(builder->batch, COLUMN_SAMPLE_STACK);
	parent->profiles_end = column_length(builder->batch, COLUMN_PROFILE);
	builder->depth = BUILDER_PROFILE_OPEN;
	return parent->profiles_end - 1;
}

/* Room for a sample in all its columns, so that it enters all of them or none. */
static bool builder_reserve_sample(struct column *columns)
{
	static const enum column_id ids[] = {
		COLUMN_SAMPLE_STACK,      COLUMN_SAMPLE_ATTRIBUTES,     COLUMN_SAMPLE_LINK,
		COLUMN_SAMPLE_VALUES_END, COLUMN_SAMPLE_TIMESTAMPS_END,
	};

	for (unsigned int i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (!column_reserve(&columns[ids[i]], ids[i], 1))
			return false;
	return true;
}

static void builder_put(struct column *column, uint32_t cell)
{
	((uint32_t *)column->block->cells)[column->length++] = cell;
}

uint32_t profcol_builder_add_sample(struct profcol_builder *builder,
				    const struct profcol_sample *sample)
{
	struct column *columns = builder->batch->columns;
	uint32_t values_before = columns[COLUMN_VALUE].length;
	struct profile_row *parent;

	if (!builder_has_parent(builder, BUILDER_PROFILE_OPEN, "sample added without a profile"))
		return 0;
	parent = builder_last_row(builder, COLUMN_PROFILE);
	if (!parent || !builder_reserve_sample(columns) ||
	    !column_append_copy(&columns[COLUMN_VALUE], COLUMN_VALUE, sample->values,
				sample->value_count))
		return builder_out_of_memory(builder);
	if (!column_append_copy(&columns[COLUMN_TIMESTAMP], COLUMN_TIMESTAMP,
				sample->timestamps_unix_ns, sample->timestamp_count)) {
		columns[COLUMN_VALUE].length = values_before;
		return builder_out_of_memory(builder);
	}
	builder_put(&columns[COLUMN_SAMPLE_STACK], sample->stack);
	builder_put(&columns[COLUMN_SAMPLE_ATTRIBUTES], sample->attributes);
	builder_put(&columns[COLUMN_SAMPLE_LINK], sample->link);
	builder_put(&columns[COLUMN_SAMPLE_VALUES_END], columns[COLUMN_VALUE].length);
	builder_put(&columns[COLUMN_SAMPLE_TIMESTAMPS_END], columns[COLUMN_TIMESTAMP].length);
	parent->samples_end = columns[COLUMN_SAMPLE_STACK].length;
	return parent->samples_end - 1;
}

/* ---- editing ---- */

void *builder_edit(struct profcol_builder *builder, enum profcol_table table, enum column_id id,
		   uint32_t row)
{
	struct column *column = &builder->batch->columns[id];
	unsigned char *cells;

	if (row >= column->length) {
		if (!builder->misplaced)
			builder->misplaced = "attributes set on a row that is not there";
		return NULL;
	}
	cells = column_own(column, id);
	if (!cells) {
		builder->out_of_memory = true;
		return NULL;
	}
	if (row < builder->checked[table])
		builder->checked[table] = row;
	return cells + row * column_cell_size(id);
}

void profcol_builder_set_resource_attributes(struct profcol_builder *builder, uint32_t resource,
					     uint32_t attribute_list)
{
	struct resource_row *row =
		builder_edit(builder, PROFCOL_RESOURCES, COLUMN_RESOURCE, resource);

	if (row)
		row->resource.attributes = attribute_list;
}

void profcol_builder_set_sample_attributes(struct profcol_builder *builder, uint32_t sample,
					   uint32_t attribute_list)
{
	uint32_t *cell = builder_edit(builder, PROFCOL_SAMPLES, COLUMN_SAMPLE_ATTRIBUTES, sample);

	if (cell)
		*cell = attribute_list;
}

void *builder_edit_entry(struct profcol_builder *builder, enum profcol_table table,
			 enum column_id id, uint32_t row)
{
	if (!row)
		return NULL;
	intern_clear(&builder->indexes[table]);
	return builder_edit(builder, table, id, row);
}

void profcol_builder_set_location_attributes(struct profcol_builder *builder, uint32_t location,
					     uint32_t attribute_list)
{
	struct location_row *row =
		builder_edit_entry(builder, PROFCOL_LOCATIONS, COLUMN_LOCATION, location);

	if (row)
		row->attributes = attribute_list;
}

void profcol_builder_set_mapping_attributes(struct profcol_builder *builder, uint32_t mapping,
					    uint32_t attribute_list)
{
	struct profcol_mapping *row =
		builder_edit_entry(builder, PROFCOL_MAPPINGS, COLUMN_MAPPING, mapping);

	if (row)
		row->attributes = attribute_list;
}
