// SPDX-License-Identifier: Apache-2.0
/* The paths there are, and how each is read. */
#include "paths.h"
#include "run.h"

#include <string.h>

#define FRAME_TYPE "profile.frame.type"

/* ---- reading ---- */

static bool read_string(struct evaluation *evaluation, uint32_t id, struct value *ret)
{
	*ret = value_string(profcol_batch_string(evaluation->batch, id));
	return true;
}

static struct profcol_resource resource_of(const struct evaluation *evaluation)
{
	struct profcol_range scopes;

	return profcol_batch_resource(evaluation->batch, evaluation->position.resource, &scopes);
}

static struct profcol_scope scope_of(const struct evaluation *evaluation)
{
	struct profcol_range profiles;

	return profcol_batch_scope(evaluation->batch, evaluation->position.scope, &profiles);
}

static struct profcol_profile profile_of(const struct evaluation *evaluation)
{
	struct profcol_range samples;

	return profcol_batch_profile(evaluation->batch, evaluation->position.profile, &samples);
}

static uint32_t resource_attributes(const struct evaluation *evaluation)
{
	return resource_of(evaluation).attributes;
}

static bool resource_dropped(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int(resource_of(evaluation).dropped_attributes_count);
	return true;
}

static bool resource_schema_url(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, resource_of(evaluation).schema_url, ret);
}

static bool scope_name(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, scope_of(evaluation).name, ret);
}

static bool scope_version(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, scope_of(evaluation).version, ret);
}

static uint32_t scope_attributes(const struct evaluation *evaluation)
{
	return scope_of(evaluation).attributes;
}

static bool scope_dropped(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int(scope_of(evaluation).dropped_attributes_count);
	return true;
}

static bool scope_schema_url(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, scope_of(evaluation).schema_url, ret);
}

/* Messages that the language cannot look into: equal to themselves only. */
enum { MESSAGE_SAMPLE_TYPE, MESSAGE_PERIOD_TYPE, MESSAGE_SAMPLES };

static bool read_message(struct value *ret, int64_t message)
{
	*ret = (struct value){ .type = VALUE_MESSAGE, .integer = message };
	return true;
}

static bool profile_sample_type(struct evaluation *evaluation, struct value *ret)
{
	(void)evaluation;
	return read_message(ret, MESSAGE_SAMPLE_TYPE);
}

static bool profile_period_type(struct evaluation *evaluation, struct value *ret)
{
	(void)evaluation;
	return read_message(ret, MESSAGE_PERIOD_TYPE);
}

static bool profile_sample(struct evaluation *evaluation, struct value *ret)
{
	(void)evaluation;
	return read_message(ret, MESSAGE_SAMPLES);
}

static bool profile_sample_type_type(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, profile_of(evaluation).sample_type, ret);
}

static bool profile_sample_type_unit(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, profile_of(evaluation).sample_unit, ret);
}

static bool profile_period_type_type(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, profile_of(evaluation).period_type, ret);
}

static bool profile_period_type_unit(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, profile_of(evaluation).period_unit, ret);
}

static bool profile_period(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int(profile_of(evaluation).period);
	return true;
}

static bool profile_time_unix_nano(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int((int64_t)profile_of(evaluation).time_unix_ns);
	return true;
}

static bool profile_time(struct evaluation *evaluation, struct value *ret)
{
	*ret = (struct value){ .type = VALUE_TIME,
			       .integer = (int64_t)profile_of(evaluation).time_unix_ns };
	return true;
}

/* A number under both of its names, as in the Collector. */
static bool profile_duration(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int((int64_t)profile_of(evaluation).duration_ns);
	return true;
}

/* Bytes of the profile's id, in scratch memory. */
static char *profile_id_bytes(struct evaluation *evaluation, size_t *length_ret)
{
	struct profcol_profile profile = profile_of(evaluation);
	char *text = scratch_alloc(evaluation->scratch, 2 * sizeof(profile.profile_id) + 1);

	*length_ret = sizeof(profile.profile_id);
	if (text)
		memcpy(text, profile.profile_id, sizeof(profile.profile_id));
	else
		evaluation_fail(evaluation, "no memory");
	return text;
}

static bool profile_id(struct evaluation *evaluation, struct value *ret)
{
	size_t length;
	const char *bytes = profile_id_bytes(evaluation, &length);

	*ret = (struct value){ .type = VALUE_ID, .text = { bytes, length } };
	return bytes != NULL;
}

static bool profile_id_string(struct evaluation *evaluation, struct value *ret)
{
	struct profcol_profile profile = profile_of(evaluation);
	size_t length;
	char *text = profile_id_bytes(evaluation, &length);

	if (!text)
		return false;
	strings_hex(text, profile.profile_id, length);
	*ret = value_string((struct profcol_text){ text, 2 * length });
	return true;
}

static uint32_t profile_attributes(const struct evaluation *evaluation)
{
	return profile_of(evaluation).attributes;
}

static bool profile_dropped(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int(profile_of(evaluation).dropped_attributes_count);
	return true;
}

static bool profile_payload_format(struct evaluation *evaluation, struct value *ret)
{
	return read_string(evaluation, profile_of(evaluation).original_payload_format, ret);
}

static bool profile_payload(struct evaluation *evaluation, struct value *ret)
{
	uint32_t blob = profile_of(evaluation).original_payload;

	*ret = (struct value){ .type = VALUE_BYTES,
			       .text = profcol_batch_blob(evaluation->batch, blob) };
	return true;
}

/* A list of @count zero integers in scratch memory, for the caller to fill; NULL with a message. */
static struct value *list_create(struct evaluation *evaluation, size_t count, struct value *ret)
{
	struct value *items = scratch_array(evaluation->scratch, count, sizeof(*items));

	if (!items) {
		evaluation_fail(evaluation, "a list of %zu items is too long", count);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = value_int(0);
	*ret = (struct value){ .type = VALUE_LIST, .count = (uint32_t)count, .items = items };
	return items;
}

static bool read_ids(struct evaluation *evaluation, uint32_t list, struct value *ret)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(evaluation->batch, list, &count);
	struct value *items = list_create(evaluation, count, ret);

	for (uint32_t i = 0; items && i < count; i++)
		items[i].integer = ids[i];
	return items != NULL;
}

static bool profile_attribute_indices(struct evaluation *evaluation, struct value *ret)
{
	return read_ids(evaluation, profile_of(evaluation).attributes, ret);
}

static bool sample_attribute_indices(struct evaluation *evaluation, struct value *ret)
{
	return read_ids(evaluation, evaluation->sample.attributes, ret);
}

static uint32_t sample_attributes(const struct evaluation *evaluation)
{
	return evaluation->sample.attributes;
}

static bool sample_values(struct evaluation *evaluation, struct value *ret)
{
	const struct profcol_sample *sample = &evaluation->sample;
	struct value *items = list_create(evaluation, sample->value_count, ret);

	for (uint32_t i = 0; items && i < sample->value_count; i++)
		items[i].integer = sample->values[i];
	return items != NULL;
}

static bool read_timestamps(struct evaluation *evaluation, enum value_type type, struct value *ret)
{
	const struct profcol_sample *sample = &evaluation->sample;
	struct value *items = list_create(evaluation, sample->timestamp_count, ret);

	for (uint32_t i = 0; items && i < sample->timestamp_count; i++) {
		items[i].type = type;
		items[i].integer = (int64_t)sample->timestamps_unix_ns[i];
	}
	return items != NULL;
}

static bool sample_timestamps_unix_nano(struct evaluation *evaluation, struct value *ret)
{
	return read_timestamps(evaluation, VALUE_INT, ret);
}

static bool sample_timestamps(struct evaluation *evaluation, struct value *ret)
{
	return read_timestamps(evaluation, VALUE_TIME, ret);
}

static bool sample_link_index(struct evaluation *evaluation, struct value *ret)
{
	*ret = value_int(evaluation->sample.link);
	return true;
}

static bool frame_function(struct evaluation *evaluation, struct value *ret)
{
	uint32_t function = evaluation->frame.function;

	return read_string(evaluation, profcol_batch_function(evaluation->batch, function).name,
			   ret);
}

static bool frame_file(struct evaluation *evaluation, struct value *ret)
{
	uint32_t function = evaluation->frame.function;

	return read_string(evaluation, profcol_batch_function(evaluation->batch, function).filename,
			   ret);
}

static bool mapping_filename(struct evaluation *evaluation, struct value *ret)
{
	uint32_t mapping = evaluation->frame.mapping;

	return read_string(evaluation, profcol_batch_mapping(evaluation->batch, mapping).filename,
			   ret);
}

/* Frames as frame.* sees them: a call that was inlined is one, a place without lines too. */
static bool stack_depth(struct evaluation *evaluation, struct value *ret)
{
	uint32_t count;
	const uint32_t *locations =
		profcol_batch_stack(evaluation->batch, evaluation->sample.stack, &count);

	*ret = value_int(0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t lines = profcol_batch_location(evaluation->batch, locations[i]).line_count;

		ret->integer += lines ? lines : 1;
	}
	return true;
}

/* The first attribute @key of @list; false when there is none. */
static bool find_attribute(const struct profcol_batch *batch, uint32_t list,
			   struct profcol_text key, struct profcol_attribute *ret)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_text name;

		*ret = profcol_batch_attribute(batch, ids[i]);
		name = profcol_batch_string(batch, ret->key);
		if (name.length == key.length && !text_compare(name, key))
			return true;
	}
	return false;
}

static bool frame_type(struct evaluation *evaluation, struct value *ret)
{
	static const struct profcol_text key = { FRAME_TYPE, sizeof(FRAME_TYPE) - 1 };
	struct profcol_attribute type;
	uint32_t id = 0;

	if (find_attribute(evaluation->batch, evaluation->frame.attributes, key, &type) &&
	    type.value.type == PROFCOL_VALUE_STRING)
		id = type.value.string;
	return read_string(evaluation, id, ret);
}

static bool cache(struct evaluation *evaluation, struct value *ret)
{
	*ret = evaluation->run->cache;
	return true;
}

bool path_read_attribute(const struct path *path, struct evaluation *evaluation,
			 struct profcol_text key, struct value *ret)
{
	struct profcol_attribute attribute;
	const struct value *cached;

	*ret = (struct value){ 0 };
	if (!path->owner) {
		cached = value_find(&evaluation->run->cache, key);
		*ret = cached ? *cached : *ret;
		return true;
	}
	if (!path->attributes ||
	    !find_attribute(evaluation->batch, path->attributes(evaluation), key, &attribute))
		return true;
	if (!value_of_attribute(evaluation->batch, &attribute.value, evaluation->scratch, ret))
		return evaluation_fail(evaluation, "the attribute is too large");
	return true;
}

static bool read_attributes(struct evaluation *evaluation, uint32_t list, struct value *ret)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(evaluation->batch, list, &count);
	struct value *items;

	items = count > OTTL_MAX_ITEMS
			? NULL
			: scratch_array(evaluation->scratch, count, 2 * sizeof(*items));
	if (!items)
		return evaluation_fail(evaluation, "%u attributes are too many for a map", count);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(evaluation->batch, ids[i]);

		items[2 * (size_t)i] =
			value_string(profcol_batch_string(evaluation->batch, attribute.key));
		if (!value_of_attribute(evaluation->batch, &attribute.value, evaluation->scratch,
					&items[2 * (size_t)i + 1]))
			return evaluation_fail(evaluation, "the attributes are too large");
	}
	value_sort_pairs(items, count);
	*ret = (struct value){ .type = VALUE_MAP, .count = count, .items = items };
	return true;
}

bool path_read(const struct path *path, struct evaluation *evaluation, struct value *ret)
{
	return path->read ? path->read(evaluation, ret)
			  : read_attributes(evaluation, path->attributes(evaluation), ret);
}

/* ---- the table ---- */

static const struct path paths[] = {
	{ NULL, "cache", 0, cache, NULL },
	{ "resource", "attributes", READS_RESOURCE, NULL, resource_attributes },
	{ "resource", "dropped_attributes_count", READS_RESOURCE, resource_dropped, NULL },
	{ "resource", "schema_url", READS_RESOURCE, resource_schema_url, NULL },
	{ "scope", "name", READS_SCOPE, scope_name, NULL },
	{ "scope", "version", READS_SCOPE, scope_version, NULL },
	{ "scope", "attributes", READS_SCOPE, NULL, scope_attributes },
	{ "scope", "dropped_attributes_count", READS_SCOPE, scope_dropped, NULL },
	{ "scope", "schema_url", READS_SCOPE, scope_schema_url, NULL },
	{ "profile", "sample_type", READS_PROFILE, profile_sample_type, NULL },
	{ "profile", "sample_type.type", READS_PROFILE, profile_sample_type_type, NULL },
	{ "profile", "sample_type.unit", READS_PROFILE, profile_sample_type_unit, NULL },
	{ "profile", "sample", READS_PROFILE, profile_sample, NULL },
	{ "profile", "time_unix_nano", READS_PROFILE, profile_time_unix_nano, NULL },
	{ "profile", "time", READS_PROFILE, profile_time, NULL },
	{ "profile", "duration_unix_nano", READS_PROFILE, profile_duration, NULL },
	{ "profile", "duration", READS_PROFILE, profile_duration, NULL },
	{ "profile", "period_type", READS_PROFILE, profile_period_type, NULL },
	{ "profile", "period_type.type", READS_PROFILE, profile_period_type_type, NULL },
	{ "profile", "period_type.unit", READS_PROFILE, profile_period_type_unit, NULL },
	{ "profile", "period", READS_PROFILE, profile_period, NULL },
	{ "profile", "profile_id", READS_PROFILE, profile_id, NULL },
	{ "profile", "profile_id.string", READS_PROFILE, profile_id_string, NULL },
	{ "profile", "attribute_indices", READS_PROFILE, profile_attribute_indices, NULL },
	{ "profile", "dropped_attributes_count", READS_PROFILE, profile_dropped, NULL },
	{ "profile", "original_payload_format", READS_PROFILE, profile_payload_format, NULL },
	{ "profile", "original_payload", READS_PROFILE, profile_payload, NULL },
	{ "profile", "attributes", READS_PROFILE, NULL, profile_attributes },
	{ "sample", "values", READS_SAMPLE, sample_values, NULL },
	{ "sample", "attribute_indices", READS_SAMPLE_ATTRIBUTES, sample_attribute_indices, NULL },
	{ "sample", "link_index", READS_SAMPLE, sample_link_index, NULL },
	{ "sample", "timestamps_unix_nano", READS_SAMPLE, sample_timestamps_unix_nano, NULL },
	{ "sample", "timestamps", READS_SAMPLE, sample_timestamps, NULL },
	{ "sample", "attributes", READS_SAMPLE_ATTRIBUTES, NULL, sample_attributes },
	{ "frame", "function", READS_FUNCTION, frame_function, NULL },
	{ "frame", "file", READS_FUNCTION, frame_file, NULL },
	{ "frame", "type", READS_LOCATION, frame_type, NULL },
	{ "mapping", "filename", READS_MAPPING, mapping_filename, NULL },
	{ "stack", "depth", READS_STACK, stack_depth, NULL },
};

const struct path *path_table(size_t *count_ret)
{
	*count_ret = sizeof(paths) / sizeof(paths[0]);
	return paths;
}
