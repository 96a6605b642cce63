// SPDX-License-Identifier: Apache-2.0
/*
 * From builder to batch: every id must name a row. What stands where (ends, row
 * counts below 2^31) is right by construction, and rows that came from a sealed
 * batch were checked by its seal: tables only grow.
 */
#include "builder.h"

#include <errno.h>
#include <inttypes.h>

/* What the checks of one table have at hand. */
struct check {
	const struct profcol_batch *batch;
	uint32_t begin, end; /* the rows to check */
};

/* A field of a row that holds an id of another table. */
struct id_field {
	const char *name;
	uint32_t id;
	enum profcol_table table;
};

#define ID_FIELDS(...)                                                                             \
	(const struct id_field[]){ __VA_ARGS__ },                                                  \
		sizeof((const struct id_field[]){ __VA_ARGS__ }) / sizeof(struct id_field)

static struct check check_table(const struct profcol_builder *builder, enum profcol_table table)
{
	return (struct check){
		.batch = builder->batch,
		.begin = builder->checked[table],
		.end = profcol_batch_count(builder->batch, table),
	};
}

static struct profcol_error *bad_id(const char *row_name, uint32_t row, const char *field,
				    uint32_t id, uint32_t count)
{
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "%s %" PRIu32 ": %s id %" PRIu32
				    " is not in its table of %" PRIu32 "; add that row first",
				    row_name, row, field, id, count);
}

static struct profcol_error *check_fields(const struct profcol_batch *batch, const char *row_name,
					  uint32_t row, const struct id_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t rows = profcol_batch_count(batch, fields[i].table);

		if (fields[i].id >= rows)
			return bad_id(row_name, row, fields[i].name, fields[i].id, rows);
	}
	return NULL;
}

/* A column of ids without more to it. @row_name is of the rows of @ends, NULL = one id a row. */
static struct profcol_error *check_column(const struct check *check, enum column_id ids_id,
					  const uint32_t *ends, const char *row_name,
					  const char *field, enum profcol_table table)
{
	const uint32_t *ids = COLUMN(check->batch, ids_id, uint32_t);
	uint32_t rows = profcol_batch_count(check->batch, table);
	uint32_t begin = check->begin, end = check->end;

	if (begin == end)
		return NULL;
	if (ends) {
		begin = column_row_begin(ends, check->begin);
		end = ends[check->end - 1];
	}
	for (uint32_t i = begin; i < end; i++) {
		uint32_t row = check->begin;

		if (ids[i] < rows)
			continue;
		while (ends && ends[row] <= i)
			row++;
		return bad_id(row_name, ends ? row : i, field, ids[i], rows);
	}
	return NULL;
}

/* ---- dictionary ---- */

static struct profcol_error *check_functions(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_function function = profcol_batch_function(check->batch, i);

		error = check_fields(
			check->batch, "function", i,
			ID_FIELDS({ "name", function.name, PROFCOL_STRINGS },
				  { "system name", function.system_name, PROFCOL_STRINGS },
				  { "filename", function.filename, PROFCOL_STRINGS }));
	}
	return error;
}

static struct profcol_error *check_mappings(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_mapping mapping = profcol_batch_mapping(check->batch, i);

		error = check_fields(check->batch, "mapping", i,
				     ID_FIELDS({ "filename", mapping.filename, PROFCOL_STRINGS },
					       { "attribute list", mapping.attributes,
						 PROFCOL_ATTRIBUTE_LISTS }));
	}
	return error;
}

static struct profcol_error *check_locations(const struct check *check)
{
	uint32_t functions = profcol_batch_count(check->batch, PROFCOL_FUNCTIONS);
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_location location = profcol_batch_location(check->batch, i);

		error = check_fields(check->batch, "location", i,
				     ID_FIELDS({ "mapping", location.mapping, PROFCOL_MAPPINGS },
					       { "attribute list", location.attributes,
						 PROFCOL_ATTRIBUTE_LISTS }));
		for (uint32_t line = 0; line < location.line_count && !error; line++)
			if (location.lines[line].function >= functions)
				error = bad_id("location", i, "function",
					       location.lines[line].function, functions);
	}
	return error;
}

static struct profcol_error *check_value(const struct profcol_batch *batch, uint32_t row,
					 const struct profcol_value *value)
{
	switch (value->type) {
	case PROFCOL_VALUE_EMPTY:
	case PROFCOL_VALUE_BOOL:
	case PROFCOL_VALUE_INT:
	case PROFCOL_VALUE_DOUBLE:
		return NULL;
	case PROFCOL_VALUE_STRING:
		return check_fields(batch, "attribute", row,
				    ID_FIELDS({ "string value", value->string, PROFCOL_STRINGS }));
	case PROFCOL_VALUE_BYTES:
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		return check_fields(batch, "attribute", row,
				    ID_FIELDS({ "blob value", value->blob, PROFCOL_BLOBS }));
	}
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "attribute %" PRIu32 ": %d is not a type of value", row,
				    (int)value->type);
}

static struct profcol_error *check_attributes(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(check->batch, i);

		error = check_fields(check->batch, "attribute", i,
				     ID_FIELDS({ "key", attribute.key, PROFCOL_STRINGS },
					       { "unit", attribute.unit, PROFCOL_STRINGS }));
		if (!error)
			error = check_value(check->batch, i, &attribute.value);
	}
	return error;
}

static struct profcol_error *check_stacks(const struct check *check)
{
	return check_column(check, COLUMN_STACK_LOCATION,
			    COLUMN(check->batch, COLUMN_STACK_END, uint32_t), "stack", "location",
			    PROFCOL_LOCATIONS);
}

static struct profcol_error *check_attribute_lists(const struct check *check)
{
	return check_column(check, COLUMN_ATTRIBUTE_LIST_ITEM,
			    COLUMN(check->batch, COLUMN_ATTRIBUTE_LIST_END, uint32_t),
			    "attribute list", "attribute", PROFCOL_ATTRIBUTES);
}

/* ---- tree ---- */

static struct profcol_error *check_resources(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(check->batch, i, &scopes);

		error = check_fields(
			check->batch, "resource", i,
			ID_FIELDS(
				{ "attribute list", resource.attributes, PROFCOL_ATTRIBUTE_LISTS },
				{ "schema URL", resource.schema_url, PROFCOL_STRINGS },
				{ "entity references", resource.entity_refs, PROFCOL_BLOBS }));
	}
	return error;
}

static struct profcol_error *check_scopes(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_range profiles;
		struct profcol_scope scope = profcol_batch_scope(check->batch, i, &profiles);

		error = check_fields(
			check->batch, "scope", i,
			ID_FIELDS({ "name", scope.name, PROFCOL_STRINGS },
				  { "version", scope.version, PROFCOL_STRINGS },
				  { "attribute list", scope.attributes, PROFCOL_ATTRIBUTE_LISTS },
				  { "schema URL", scope.schema_url, PROFCOL_STRINGS }));
	}
	return error;
}

static struct profcol_error *check_profiles(const struct check *check)
{
	struct profcol_error *error = NULL;

	for (uint32_t i = check->begin; i < check->end && !error; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(check->batch, i, &samples);

		error = check_fields(
			check->batch, "profile", i,
			ID_FIELDS({ "sample type", profile.sample_type, PROFCOL_STRINGS },
				  { "sample unit", profile.sample_unit, PROFCOL_STRINGS },
				  { "period type", profile.period_type, PROFCOL_STRINGS },
				  { "period unit", profile.period_unit, PROFCOL_STRINGS },
				  { "attribute list", profile.attributes, PROFCOL_ATTRIBUTE_LISTS },
				  { "payload format", profile.original_payload_format,
				    PROFCOL_STRINGS },
				  { "payload", profile.original_payload, PROFCOL_BLOBS }));
	}
	return error;
}

static struct profcol_error *check_sample_shapes(const struct check *check)
{
	for (uint32_t i = check->begin; i < check->end; i++) {
		struct profcol_sample sample = profcol_batch_sample(check->batch, i);
		uint32_t values = sample.value_count, timestamps = sample.timestamp_count;

		if (values ? timestamps == values || (values == 1 && !timestamps) : timestamps > 0)
			continue;
		return profcol_error_create(
			PROFCOL_BAD_DATA,
			"sample %" PRIu32 ": %" PRIu32 " values do not fit %" PRIu32
			" timestamps; give timestamps, one value, or as many of both",
			i, values, timestamps);
	}
	return NULL;
}

static struct profcol_error *check_samples(const struct check *check)
{
	struct profcol_error *error =
		check_column(check, COLUMN_SAMPLE_STACK, NULL, "sample", "stack", PROFCOL_STACKS);

	if (!error)
		error = check_column(check, COLUMN_SAMPLE_ATTRIBUTES, NULL, "sample",
				     "attribute list", PROFCOL_ATTRIBUTE_LISTS);
	if (!error)
		error = check_column(check, COLUMN_SAMPLE_LINK, NULL, "sample", "link",
				     PROFCOL_LINKS);
	return error ? error : check_sample_shapes(check);
}

typedef struct profcol_error *(*check_function)(const struct check *check);

static struct profcol_error *builder_check(const struct profcol_builder *builder)
{
	static const check_function checks[ALL_TABLES] = {
		[PROFCOL_FUNCTIONS] = check_functions,
		[PROFCOL_MAPPINGS] = check_mappings,
		[PROFCOL_LOCATIONS] = check_locations,
		[PROFCOL_STACKS] = check_stacks,
		[PROFCOL_ATTRIBUTES] = check_attributes,
		[PROFCOL_ATTRIBUTE_LISTS] = check_attribute_lists,
		[PROFCOL_RESOURCES] = check_resources,
		[PROFCOL_SCOPES] = check_scopes,
		[PROFCOL_PROFILES] = check_profiles,
		[PROFCOL_SAMPLES] = check_samples,
	};

	for (unsigned int table = 0; table < ALL_TABLES; table++) {
		struct check check = check_table(builder, table);
		struct profcol_error *error = checks[table] ? checks[table](&check) : NULL;

		if (error)
			return error;
	}
	return NULL;
}

static struct profcol_error *seal(struct profcol_builder *builder, struct profcol_batch **ret)
{
	struct profcol_error *error;

	if (builder->out_of_memory)
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory, or no ids below 2^31, for a row of the "
					    "batch; make batches smaller");
	if (builder->misplaced)
		return profcol_error_create(PROFCOL_BAD_DATA, "%s", builder->misplaced);
	error = builder_check(builder);
	if (error)
		return error;
	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		column_settle(&builder->batch->columns[id]);
	// Where nothing was looked up there is nothing to keep.
	if (!builder->base && builder->indexes[PROFCOL_STRINGS].count)
		builder->base = sealed_index_create(builder->indexes, builder->hash_seed);
	if (!builder->base && builder->indexes[PROFCOL_STRINGS].count)
		return profcol_error_errno(ENOMEM, "seal batch");
	builder->batch->index = TAKE(builder->base);
	*ret = TAKE(builder->batch);
	return NULL;
}

struct profcol_error *profcol_builder_seal(struct profcol_builder *builder,
					   struct profcol_batch **ret)
{
	struct profcol_error *error = seal(builder, ret);

	profcol_builder_destroy(builder);
	return error;
}
