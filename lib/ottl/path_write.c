// SPDX-License-Identifier: Apache-2.0
#include "path_write.h"

#include "edit_map.h"
#include "run.h"
#include "value_store.h"

#include "base/base.h"
#include "profile/profile.h"

#include <string.h>

/* ---- what a field takes ---- */

static bool wrong_type(struct evaluation *evaluation, enum value_type expected,
		       const struct value *value)
{
	return evaluation_fail(evaluation, "expects a value of type %s but got %s",
			       value_type_name(expected), value_type_name(value->type));
}

/* The id of the string @value, in place of string @old. False with a message. */
static bool take_string(struct evaluation *evaluation, const struct value *value, uint32_t old,
			uint32_t *ret)
{
	struct value kept;

	if (value->type != VALUE_STRING)
		return wrong_type(evaluation, VALUE_STRING, value);
	if (!value_keep(value, evaluation->scratch, &kept))
		return evaluation_fail(evaluation, "no memory for a text");
	*ret = profcol_builder_string(evaluation->run->builder, kept.text.bytes, kept.text.length);
	evaluation->run->has_removed |= old && old != *ret;
	return true;
}

static bool take_int(struct evaluation *evaluation, const struct value *value, int64_t *ret)
{
	if (value->type != VALUE_INT)
		return wrong_type(evaluation, VALUE_INT, value);
	*ret = value->integer;
	return true;
}

/* The Collector takes the lower 32 bits. */
static bool take_count(struct evaluation *evaluation, const struct value *value, uint32_t *ret)
{
	int64_t count = 0;

	if (!take_int(evaluation, value, &count))
		return false;
	*ret = (uint32_t)count;
	return true;
}

/* ---- resources and scopes ---- */

static struct profcol_resource resource_at(const struct evaluation *evaluation)
{
	struct profcol_range scopes;

	return profcol_batch_resource(evaluation->batch, evaluation->position.resource, &scopes);
}

static void put_resource(struct evaluation *evaluation, const struct profcol_resource *resource)
{
	profile_set_resource(evaluation->run->builder, evaluation->position.resource, resource);
}

static void set_resource_attributes(struct evaluation *evaluation, uint32_t list)
{
	struct profcol_resource resource = resource_at(evaluation);

	resource.attributes = list;
	put_resource(evaluation, &resource);
}

static bool write_resource_dropped(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_resource resource = resource_at(evaluation);

	if (!take_count(evaluation, value, &resource.dropped_attributes_count))
		return false;
	put_resource(evaluation, &resource);
	return true;
}

static bool write_resource_schema_url(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_resource resource = resource_at(evaluation);

	if (!take_string(evaluation, value, resource.schema_url, &resource.schema_url))
		return false;
	put_resource(evaluation, &resource);
	return true;
}

static struct profcol_scope scope_at(const struct evaluation *evaluation)
{
	struct profcol_range profiles;

	return profcol_batch_scope(evaluation->batch, evaluation->position.scope, &profiles);
}

static void put_scope(struct evaluation *evaluation, const struct profcol_scope *scope)
{
	profile_set_scope(evaluation->run->builder, evaluation->position.scope, scope);
}

static void set_scope_attributes(struct evaluation *evaluation, uint32_t list)
{
	struct profcol_scope scope = scope_at(evaluation);

	scope.attributes = list;
	put_scope(evaluation, &scope);
}

#define WRITE_SCOPE(name_, take_, field_, ...)                                                     \
	static bool write_scope_##name_(struct evaluation *evaluation, const struct value *value)  \
	{                                                                                          \
		struct profcol_scope scope = scope_at(evaluation);                                 \
                                                                                                   \
		if (!take_(evaluation, value, ##__VA_ARGS__, &scope.field_))                       \
			return false;                                                              \
		put_scope(evaluation, &scope);                                                     \
		return true;                                                                       \
	}

WRITE_SCOPE(name, take_string, name, scope.name)
WRITE_SCOPE(version, take_string, version, scope.version)
WRITE_SCOPE(dropped, take_count, dropped_attributes_count)
WRITE_SCOPE(schema_url, take_string, schema_url, scope.schema_url)

/* ---- profiles ---- */

static struct profcol_profile profile_at(const struct evaluation *evaluation)
{
	struct profcol_range samples;

	return profcol_batch_profile(evaluation->batch, evaluation->position.profile, &samples);
}

static void put_profile(struct evaluation *evaluation, const struct profcol_profile *profile)
{
	profile_set_profile(evaluation->run->builder, evaluation->position.profile, profile);
}

static void set_profile_attributes(struct evaluation *evaluation, uint32_t list)
{
	struct profcol_profile profile = profile_at(evaluation);

	profile.attributes = list;
	put_profile(evaluation, &profile);
}

static bool take_time_ns(struct evaluation *evaluation, const struct value *value, uint64_t *ret)
{
	int64_t ns = 0;

	if (!take_int(evaluation, value, &ns))
		return false;
	*ret = (uint64_t)ns;
	return true;
}

static bool take_time(struct evaluation *evaluation, const struct value *value, uint64_t *ret)
{
	if (value->type != VALUE_TIME)
		return wrong_type(evaluation, VALUE_TIME, value);
	*ret = (uint64_t)value->integer;
	return true;
}

static bool take_duration(struct evaluation *evaluation, const struct value *value, uint64_t *ret)
{
	int64_t ns = 0;

	if (!take_int(evaluation, value, &ns))
		return false;
	if (ns < 0)
		return evaluation_fail(evaluation, "a duration must be non-negative");
	*ret = (uint64_t)ns;
	return true;
}

static bool is_zero_id(const uint8_t id[16])
{
	static const uint8_t none[16];

	return !memcmp(id, none, sizeof(none));
}

/* 16 bytes that are not all zero, from the @digits of a string or an id. */
static bool take_id(struct evaluation *evaluation, const struct value *value, bool digits,
		    uint8_t ret[16])
{
	enum { ID_BYTES = 16 };
	uint8_t id[ID_BYTES] = { 0 };

	if (value->type != (digits ? VALUE_STRING : VALUE_ID))
		return wrong_type(evaluation, digits ? VALUE_STRING : VALUE_ID, value);
	if (value->text.length != (digits ? 2 * ID_BYTES : ID_BYTES))
		return evaluation_fail(evaluation, "profile ids must be 32 hex characters");
	for (size_t i = 0; i < ID_BYTES; i++) {
		int high = digits ? strings_hex_digit(value->text.bytes[2 * i]) : 0;
		int low = digits ? strings_hex_digit(value->text.bytes[2 * i + 1]) : 0;

		if (high < 0 || low < 0)
			return evaluation_fail(evaluation, "profile ids must be hex characters");
		id[i] = digits ? (uint8_t)(high << 4 | low) : (uint8_t)value->text.bytes[i];
	}
	if (is_zero_id(id))
		return evaluation_fail(evaluation, "profile ids must not be empty");
	memcpy(ret, id, sizeof(id));
	return true;
}

static bool take_payload(struct evaluation *evaluation, const struct value *value, uint32_t *ret)
{
	struct value kept;

	if (value->type != VALUE_BYTES)
		return wrong_type(evaluation, VALUE_BYTES, value);
	if (!value_keep(value, evaluation->scratch, &kept))
		return evaluation_fail(evaluation, "no memory for the payload");
	*ret = profcol_builder_blob(evaluation->run->builder, kept.text.bytes, kept.text.length);
	return true;
}

/* Of no harm to the payload: it is what it is about. */
static bool take_format(struct evaluation *evaluation, const struct value *value, uint32_t *ret)
{
	return take_string(evaluation, value, 0, ret);
}

#define WRITE_PROFILE(name_, take_, ...)                                                           \
	static bool write_profile_##name_(struct evaluation *evaluation,                           \
					  const struct value *value)                               \
	{                                                                                          \
		struct profcol_profile profile = profile_at(evaluation);                           \
                                                                                                   \
		if (!take_(evaluation, value, __VA_ARGS__))                                        \
			return false;                                                              \
		put_profile(evaluation, &profile);                                                 \
		return true;                                                                       \
	}

WRITE_PROFILE(period_type, take_string, profile.period_type, &profile.period_type)
WRITE_PROFILE(period_unit, take_string, profile.period_unit, &profile.period_unit)
WRITE_PROFILE(period, take_int, &profile.period)
WRITE_PROFILE(time_unix_nano, take_time_ns, &profile.time_unix_ns)
WRITE_PROFILE(time, take_time, &profile.time_unix_ns)
WRITE_PROFILE(duration, take_duration, &profile.duration_ns)
WRITE_PROFILE(id, take_id, false, profile.profile_id)
WRITE_PROFILE(id_string, take_id, true, profile.profile_id)
WRITE_PROFILE(dropped, take_count, &profile.dropped_attributes_count)
WRITE_PROFILE(format, take_format, &profile.original_payload_format)
WRITE_PROFILE(payload, take_payload, &profile.original_payload)

/* What the values of samples/count are is kept account of: they stay so, and others do not become
 * so. */
static bool put_sample_type(struct evaluation *evaluation, const struct profcol_profile *profile)
{
	const struct profcol_profile old = profile_at(evaluation);
	uint32_t row = evaluation->position.profile;
	bool counted = profile_counts_samples(evaluation->batch, row);

	put_profile(evaluation, profile);
	if (profile_counts_samples(evaluation->batch, row) == counted)
		return true;
	put_profile(evaluation, &old);
	return evaluation_fail(evaluation, "the type samples/count cannot be changed, nor become "
					   "that of another profile: samples are counted by it");
}

static bool write_profile_sample_type(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_profile profile = profile_at(evaluation);

	return take_string(evaluation, value, profile.sample_type, &profile.sample_type) &&
	       put_sample_type(evaluation, &profile);
}

static bool write_profile_sample_unit(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_profile profile = profile_at(evaluation);

	return take_string(evaluation, value, profile.sample_unit, &profile.sample_unit) &&
	       put_sample_type(evaluation, &profile);
}

/* ---- samples, frames, mappings ---- */

static void set_sample_attributes(struct evaluation *evaluation, uint32_t list)
{
	evaluation->sample.attributes = list;
	profcol_builder_set_sample_attributes(evaluation->run->builder, evaluation->position.sample,
					      list);
}

/* The mangled name would still say what the name says no longer. */
static bool write_frame_function(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_function function =
		profcol_batch_function(evaluation->batch, evaluation->frame.function);
	uint32_t old = function.name;

	if (!take_string(evaluation, value, old, &function.name))
		return false;
	if (function.name == old)
		return true;
	function.system_name = 0;
	evaluation->frame.function = profcol_builder_function(evaluation->run->builder, &function);
	return true;
}

static bool write_frame_file(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_function function =
		profcol_batch_function(evaluation->batch, evaluation->frame.function);

	if (!take_string(evaluation, value, function.filename, &function.filename))
		return false;
	evaluation->frame.function = profcol_builder_function(evaluation->run->builder, &function);
	return true;
}

static bool write_mapping_filename(struct evaluation *evaluation, const struct value *value)
{
	struct profcol_mapping mapping =
		profcol_batch_mapping(evaluation->batch, evaluation->frame.mapping);
	uint32_t filename;

	if (!take_string(evaluation, value, mapping.filename, &filename))
		return false;
	profile_set_mapping_filename(evaluation->run->builder, evaluation->frame.mapping, filename);
	return true;
}

static bool write_cache(struct evaluation *evaluation, const struct value *value)
{
	struct value kept;

	if (value->type != VALUE_MAP && value->type != VALUE_NIL)
		return wrong_type(evaluation, VALUE_MAP, value);
	if (!value_keep(value, &evaluation->run->cache_memory, &kept))
		return evaluation_fail(evaluation, "no room in the cache");
	kept.type = VALUE_MAP;
	evaluation->run->cache = kept;
	return true;
}

/* ---- the table ---- */

static const struct path_writer writers[] = {
	{ NULL, "cache", 0, write_cache, NULL },
	{ "resource", "attributes", READS_RESOURCE, NULL, set_resource_attributes },
	{ "resource", "dropped_attributes_count", READS_RESOURCE, write_resource_dropped, NULL },
	{ "resource", "schema_url", READS_RESOURCE, write_resource_schema_url, NULL },
	{ "scope", "name", READS_SCOPE, write_scope_name, NULL },
	{ "scope", "version", READS_SCOPE, write_scope_version, NULL },
	{ "scope", "attributes", READS_SCOPE, NULL, set_scope_attributes },
	{ "scope", "dropped_attributes_count", READS_SCOPE, write_scope_dropped, NULL },
	{ "scope", "schema_url", READS_SCOPE, write_scope_schema_url, NULL },
	{ "profile", "sample_type.type", READS_PROFILE, write_profile_sample_type, NULL },
	{ "profile", "sample_type.unit", READS_PROFILE, write_profile_sample_unit, NULL },
	{ "profile", "period_type.type", READS_PROFILE, write_profile_period_type, NULL },
	{ "profile", "period_type.unit", READS_PROFILE, write_profile_period_unit, NULL },
	{ "profile", "period", READS_PROFILE, write_profile_period, NULL },
	{ "profile", "time_unix_nano", READS_PROFILE, write_profile_time_unix_nano, NULL },
	{ "profile", "time", READS_PROFILE, write_profile_time, NULL },
	{ "profile", "duration_unix_nano", READS_PROFILE, write_profile_duration, NULL },
	{ "profile", "duration", READS_PROFILE, write_profile_duration, NULL },
	{ "profile", "profile_id", READS_PROFILE, write_profile_id, NULL },
	{ "profile", "profile_id.string", READS_PROFILE, write_profile_id_string, NULL },
	{ "profile", "attributes", READS_PROFILE, NULL, set_profile_attributes },
	{ "profile", "dropped_attributes_count", READS_PROFILE, write_profile_dropped, NULL },
	{ "profile", "original_payload_format", READS_PROFILE, write_profile_format, NULL },
	{ "profile", "original_payload", READS_PROFILE, write_profile_payload, NULL },
	{ "sample", "attributes", READS_SAMPLE_ATTRIBUTES, NULL, set_sample_attributes },
	{ "frame", "function", READS_FUNCTION, write_frame_function, NULL },
	{ "frame", "file", READS_FUNCTION, write_frame_file, NULL },
	{ "mapping", "filename", READS_MAPPING, write_mapping_filename, NULL },
};

enum { WRITER_COUNT = sizeof(writers) / sizeof(writers[0]) };

const struct path_writer *path_writer(const struct path *path)
{
	for (size_t i = 0; i < WRITER_COUNT; i++) {
		bool is_owner = path->owner && writers[i].owner
					? !strcmp(path->owner, writers[i].owner)
					: !path->owner && !writers[i].owner;

		if (is_owner && !strcmp(path->name, writers[i].name))
			return &writers[i];
	}
	return NULL;
}

bool path_write(struct evaluation *evaluation, const struct node *node, const struct value *value)
{
	if (node->writer->write)
		return node->writer->write(evaluation, value);
	return edit_map_replace_attributes(evaluation, node, value);
}
