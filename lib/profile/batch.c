// SPDX-License-Identifier: Apache-2.0
/* Life and reading of batches: include/profcol/batch.h. */
#include "columns.h"

#include "profile.h"
#include "sealed_index.h"

#include <stdlib.h>
#include <string.h>

struct profcol_batch *batch_create(void)
{
	struct profcol_batch *batch = calloc(1, sizeof(*batch));

	if (batch)
		atomic_init(&batch->references, 1);
	return batch;
}

struct profcol_batch *profcol_batch_ref(struct profcol_batch *batch)
{
	atomic_fetch_add_explicit(&batch->references, 1, memory_order_relaxed);
	return batch;
}

void profcol_batch_unref(struct profcol_batch *batch)
{
	if (!batch || atomic_fetch_sub_explicit(&batch->references, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		column_release(&batch->columns[id]);
	sealed_index_unref(batch->index);
	free(batch);
}

/* The column with one cell for each row of a table. */
static const enum column_id row_columns[] = {
	[PROFCOL_STRINGS] = COLUMN_STRING_END,
	[PROFCOL_BLOBS] = COLUMN_BLOB_END,
	[PROFCOL_FUNCTIONS] = COLUMN_FUNCTION,
	[PROFCOL_MAPPINGS] = COLUMN_MAPPING,
	[PROFCOL_LOCATIONS] = COLUMN_LOCATION,
	[PROFCOL_STACKS] = COLUMN_STACK_END,
	[PROFCOL_ATTRIBUTES] = COLUMN_ATTRIBUTE,
	[PROFCOL_ATTRIBUTE_LISTS] = COLUMN_ATTRIBUTE_LIST_END,
	[PROFCOL_LINKS] = COLUMN_LINK,
	[PROFCOL_RESOURCES] = COLUMN_RESOURCE,
	[PROFCOL_SCOPES] = COLUMN_SCOPE,
	[PROFCOL_PROFILES] = COLUMN_PROFILE,
	[PROFCOL_SAMPLES] = COLUMN_SAMPLE_STACK,
};

uint32_t profcol_batch_count(const struct profcol_batch *batch, enum profcol_table table)
{
	if ((unsigned int)table > PROFCOL_SAMPLES)
		return 0;
	return column_length(batch, row_columns[table]);
}

/* ---- dictionary ---- */

/* Row @id of a table of NUL-terminated bytes. */
static struct profcol_text batch_bytes(const struct profcol_batch *batch, enum column_id ends_id,
				       enum column_id bytes_id, uint32_t id)
{
	const uint32_t *ends = COLUMN(batch, ends_id, uint32_t);
	uint32_t begin;

	if (id >= column_length(batch, ends_id))
		return (struct profcol_text){ .bytes = "" };
	begin = column_row_begin(ends, id);
	return (struct profcol_text){
		.bytes = COLUMN(batch, bytes_id, char) + begin,
		.length = ends[id] - begin - 1,
	};
}

struct profcol_text profcol_batch_string(const struct profcol_batch *batch, uint32_t id)
{
	return batch_bytes(batch, COLUMN_STRING_END, COLUMN_STRING_BYTES, id);
}

struct profcol_text profcol_batch_blob(const struct profcol_batch *batch, uint32_t id)
{
	return batch_bytes(batch, COLUMN_BLOB_END, COLUMN_BLOB_BYTES, id);
}

struct profcol_function profcol_batch_function(const struct profcol_batch *batch, uint32_t id)
{
	if (id >= column_length(batch, COLUMN_FUNCTION))
		return (struct profcol_function){ 0 };
	return COLUMN(batch, COLUMN_FUNCTION, struct profcol_function)[id];
}

struct profcol_mapping profcol_batch_mapping(const struct profcol_batch *batch, uint32_t id)
{
	if (id >= column_length(batch, COLUMN_MAPPING))
		return (struct profcol_mapping){ 0 };
	return COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping)[id];
}

struct profcol_location profcol_batch_location(const struct profcol_batch *batch, uint32_t id)
{
	const struct location_row *rows = COLUMN(batch, COLUMN_LOCATION, struct location_row);
	uint32_t begin;

	if (id >= column_length(batch, COLUMN_LOCATION))
		return (struct profcol_location){ 0 };
	begin = id ? rows[id - 1].lines_end : 0;
	return (struct profcol_location){
		.mapping = rows[id].mapping,
		.attributes = rows[id].attributes,
		.address = rows[id].address,
		.lines = rows[id].lines_end > begin
				 ? COLUMN(batch, COLUMN_LINE, struct profcol_line) + begin
				 : NULL,
		.line_count = rows[id].lines_end - begin,
	};
}

struct profcol_attribute profcol_batch_attribute(const struct profcol_batch *batch, uint32_t id)
{
	if (id >= column_length(batch, COLUMN_ATTRIBUTE))
		return (struct profcol_attribute){ 0 };
	return COLUMN(batch, COLUMN_ATTRIBUTE, struct profcol_attribute)[id];
}

struct profcol_link profcol_batch_link(const struct profcol_batch *batch, uint32_t id)
{
	if (id >= column_length(batch, COLUMN_LINK))
		return (struct profcol_link){ 0 };
	return COLUMN(batch, COLUMN_LINK, struct profcol_link)[id];
}

/* Row @id of a table of lists of ids. */
static const uint32_t *batch_ids(const struct profcol_batch *batch, enum column_id ends_id,
				 enum column_id ids_id, uint32_t id, uint32_t *count_ret)
{
	const uint32_t *ends = COLUMN(batch, ends_id, uint32_t);
	uint32_t begin;

	*count_ret = 0;
	if (id >= column_length(batch, ends_id))
		return NULL;
	begin = column_row_begin(ends, id);
	*count_ret = ends[id] - begin;
	return *count_ret ? COLUMN(batch, ids_id, uint32_t) + begin : NULL;
}

const uint32_t *profcol_batch_stack(const struct profcol_batch *batch, uint32_t id,
				    uint32_t *count_ret)
{
	return batch_ids(batch, COLUMN_STACK_END, COLUMN_STACK_LOCATION, id, count_ret);
}

const uint32_t *profcol_batch_attribute_list(const struct profcol_batch *batch, uint32_t id,
					     uint32_t *count_ret)
{
	return batch_ids(batch, COLUMN_ATTRIBUTE_LIST_END, COLUMN_ATTRIBUTE_LIST_ITEM, id,
			 count_ret);
}

/* ---- tree ---- */

struct profcol_resource profcol_batch_resource(const struct profcol_batch *batch, uint32_t id,
					       struct profcol_range *scopes_ret)
{
	const struct resource_row *rows = COLUMN(batch, COLUMN_RESOURCE, struct resource_row);

	*scopes_ret = (struct profcol_range){ 0 };
	if (id >= column_length(batch, COLUMN_RESOURCE))
		return (struct profcol_resource){ 0 };
	scopes_ret->begin = id ? rows[id - 1].scopes_end : 0;
	scopes_ret->end = rows[id].scopes_end;
	return rows[id].resource;
}

struct profcol_scope profcol_batch_scope(const struct profcol_batch *batch, uint32_t id,
					 struct profcol_range *profiles_ret)
{
	const struct scope_row *rows = COLUMN(batch, COLUMN_SCOPE, struct scope_row);

	*profiles_ret = (struct profcol_range){ 0 };
	if (id >= column_length(batch, COLUMN_SCOPE))
		return (struct profcol_scope){ 0 };
	profiles_ret->begin = id ? rows[id - 1].profiles_end : 0;
	profiles_ret->end = rows[id].profiles_end;
	return rows[id].scope;
}

struct profcol_profile profcol_batch_profile(const struct profcol_batch *batch, uint32_t id,
					     struct profcol_range *samples_ret)
{
	const struct profile_row *rows = COLUMN(batch, COLUMN_PROFILE, struct profile_row);

	*samples_ret = (struct profcol_range){ 0 };
	if (id >= column_length(batch, COLUMN_PROFILE))
		return (struct profcol_profile){ 0 };
	samples_ret->begin = id ? rows[id - 1].samples_end : 0;
	samples_ret->end = rows[id].samples_end;
	return rows[id].profile;
}

struct profcol_sample profcol_batch_sample(const struct profcol_batch *batch, uint32_t id)
{
	const uint32_t *values_end, *timestamps_end;
	uint32_t values_begin, timestamps_begin;
	struct profcol_sample sample = { 0 };

	if (id >= column_length(batch, COLUMN_SAMPLE_STACK))
		return sample;
	values_end = COLUMN(batch, COLUMN_SAMPLE_VALUES_END, uint32_t);
	timestamps_end = COLUMN(batch, COLUMN_SAMPLE_TIMESTAMPS_END, uint32_t);
	values_begin = column_row_begin(values_end, id);
	timestamps_begin = column_row_begin(timestamps_end, id);
	sample.stack = COLUMN(batch, COLUMN_SAMPLE_STACK, uint32_t)[id];
	sample.attributes = COLUMN(batch, COLUMN_SAMPLE_ATTRIBUTES, uint32_t)[id];
	sample.link = COLUMN(batch, COLUMN_SAMPLE_LINK, uint32_t)[id];
	sample.value_count = values_end[id] - values_begin;
	sample.timestamp_count = timestamps_end[id] - timestamps_begin;
	if (sample.value_count)
		sample.values = COLUMN(batch, COLUMN_VALUE, int64_t) + values_begin;
	if (sample.timestamp_count)
		sample.timestamps_unix_ns =
			COLUMN(batch, COLUMN_TIMESTAMP, uint64_t) + timestamps_begin;
	return sample;
}

static bool string_is(const struct profcol_batch *batch, uint32_t id, const char *text)
{
	struct profcol_text string = profcol_batch_string(batch, id);

	return string.length == strlen(text) && !memcmp(string.bytes, text, string.length);
}

bool profile_counts_samples(const struct profcol_batch *batch, uint32_t profile)
{
	struct profcol_range samples;
	struct profcol_profile row = profcol_batch_profile(batch, profile, &samples);

	return string_is(batch, row.sample_type, "samples") &&
	       string_is(batch, row.sample_unit, "count");
}

uint64_t profile_sample_events(const struct profcol_sample *sample, bool counts_samples)
{
	// The bound keeps the sum of what a peer may claim within 63 bits.
	if (counts_samples && !sample->timestamp_count && sample->value_count == 1 &&
	    sample->values[0] > 1)
		return sample->values[0] < UINT32_MAX ? (uint64_t)sample->values[0] : UINT32_MAX;
	return sample->value_count > sample->timestamp_count ? sample->value_count
							     : sample->timestamp_count;
}

uint64_t profcol_batch_events(const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	uint64_t events = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range range;
		bool counts_samples = profile_counts_samples(batch, i);

		profcol_batch_profile(batch, i, &range);
		for (uint32_t row = range.begin; row < range.end; row++) {
			struct profcol_sample sample = profcol_batch_sample(batch, row);

			events += profile_sample_events(&sample, counts_samples);
		}
	}
	return events;
}

size_t profile_memory(const struct profcol_batch *batch)
{
	size_t bytes = sizeof(*batch) + sealed_index_memory(batch->index);

	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		bytes += column_memory(&batch->columns[id], id);
	return bytes;
}
