// SPDX-License-Identifier: Apache-2.0
#include "sample_table.h"

#include "named_profiles.h"

#include "../columns.h"

#include <string.h>

struct lookup {
	const struct sample_key *keys;
	struct sample_key wanted;
};

static bool lookup_equal(uint32_t row, const void *context)
{
	const struct lookup *lookup = context;

	return lookup->keys[row].stack == lookup->wanted.stack &&
	       lookup->keys[row].labels == lookup->wanted.labels;
}

/* The values of a sample, zero when it is new; NULL without memory. */
static int64_t *row_get(struct sample_table *table, struct sample_key key, size_t columns)
{
	struct lookup lookup = { .keys = table->keys.items, .wanted = key };
	uint32_t hash = intern_hash(&key, sizeof(key));
	uint32_t row = intern_find(&table->index, hash, lookup_equal, &lookup);

	if (row == INTERN_MISSING) {
		row = (uint32_t)table->keys.count;
		if (row >= INT32_MAX || !VECTOR_RESERVE(&table->values, columns) ||
		    !VECTOR_PUSH(&table->keys, key) || !intern_insert(&table->index, hash, row))
			return NULL;
		memset(table->values.items + table->values.count, 0, columns * sizeof(int64_t));
		table->values.count += columns;
	}
	return table->values.items + row * columns;
}

static void add_saturating(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t multiply_saturating(int64_t a, int64_t b)
{
	int64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
	return product;
}

/* What a sample adds: its values, or one for each time it was seen. */
static int64_t sample_total(const struct profcol_batch *batch, uint32_t sample)
{
	const uint32_t *values_ends = COLUMN(batch, COLUMN_SAMPLE_VALUES_END, uint32_t);
	const uint32_t *times_ends = COLUMN(batch, COLUMN_SAMPLE_TIMESTAMPS_END, uint32_t);
	const int64_t *values = COLUMN(batch, COLUMN_VALUE, int64_t);
	uint32_t begin = column_row_begin(values_ends, sample);
	int64_t total = 0;

	if (begin == values_ends[sample])
		return times_ends[sample] - column_row_begin(times_ends, sample);
	for (uint32_t i = begin; i < values_ends[sample]; i++)
		add_saturating(&total, values[i]);
	return total;
}

static void add_profile(struct sample_table *table, const struct profcol_batch *batch,
			const struct value_columns *columns, struct labels *labels,
			uint32_t resource_attributes, uint32_t name, uint32_t id)
{
	const uint32_t *stacks = COLUMN(batch, COLUMN_SAMPLE_STACK, uint32_t);
	const uint32_t *attributes = COLUMN(batch, COLUMN_SAMPLE_ATTRIBUTES, uint32_t);
	const uint32_t *links = COLUMN(batch, COLUMN_SAMPLE_LINK, uint32_t);
	const struct profile_columns *targets = &columns->profiles[id];
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);

	for (uint32_t i = samples.begin; i < samples.end && !table->failed; i++) {
		struct label_source source = {
			.resource_attributes = resource_attributes,
			.sample_attributes = attributes[i],
			.link = links[i],
			.profile_name = name,
		};
		struct sample_key key = { stacks[i], labels_number(labels, source) };
		int64_t total = sample_total(batch, i);
		int64_t *row = row_get(table, key, columns->columns.count);

		if (!row) {
			table->failed = true;
			return;
		}
		add_saturating(&row[targets->own], total);
		if (targets->derived != NO_COLUMN)
			add_saturating(&row[targets->derived],
				       multiply_saturating(total, profile.period));
	}
}

/* The profiles of one resource that are not out of date. */
static void add_resource(struct sample_table *table, const struct profcol_batch *batch,
			 const struct value_columns *columns, const struct named_profiles *named,
			 struct labels *labels, uint32_t id)
{
	struct profcol_range scopes, profiles;
	uint32_t attributes = profcol_batch_resource(batch, id, &scopes).attributes;

	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		profcol_batch_scope(batch, i, &profiles);
		for (uint32_t j = profiles.begin; j < profiles.end; j++)
			if (!named->is_superseded[j])
				add_profile(table, batch, columns, labels, attributes,
					    named->names[j], j);
	}
}

void sample_table_init(struct sample_table *table, const struct profcol_batch *batch,
		       const struct value_columns *columns, struct labels *labels)
{
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct named_profiles named;

	*table = (struct sample_table){ 0 };
	table->failed = !named_profiles_init(&named, batch, columns);
	for (uint32_t i = 0; i < resources && !table->failed; i++)
		add_resource(table, batch, columns, &named, labels, i);
	named_profiles_deinit(&named);
}

void sample_table_deinit(struct sample_table *table)
{
	VECTOR_DEINIT(&table->keys);
	VECTOR_DEINIT(&table->values);
	intern_deinit(&table->index);
}
