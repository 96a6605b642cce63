// SPDX-License-Identifier: Apache-2.0
#include "importer.h"

#include "../profile.h"
#include "keys.h"
#include "value_columns.h"

#include <inttypes.h>
#include <string.h>

struct profcol_error *importer_no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof");
}

void *importer_alloc(struct importer *importer, size_t count, size_t item_size)
{
	// One more, so that an empty array is not NULL.
	return budget_alloc(importer->budget,
			    count < SIZE_MAX / item_size ? (count + 1) * item_size : SIZE_MAX);
}

struct profcol_error *importer_check_memory(const struct importer *importer)
{
	size_t batch = profile_memory(profcol_builder_peek(importer->builder));

	if (arena_memory(importer->budget->arena) + batch > importer->budget->max_bytes)
		return budget_exceeded(importer->budget);
	return budget_set_batch(importer->budget, batch) ? NULL : budget_error(importer->budget);
}

/* A text of the file as a string of the batch, repaired when it is not UTF-8. */
static struct profcol_error *add_string(struct importer *importer, const ProtobufCBinaryData *text,
					uint32_t *ret)
{
	const char *bytes = (const char *)text->data;
	char *repaired;

	if (!text->len) {
		*ret = 0;
		return NULL;
	}
	if (!strings_is_utf8(bytes, text->len)) {
		repaired = budget_alloc(importer->budget, text->len + 1);
		if (!repaired)
			return budget_error(importer->budget);
		strings_sanitize_utf8(repaired, bytes, text->len);
		bytes = repaired;
	}
	*ret = profcol_builder_string(importer->builder, bytes, text->len);
	return NULL;
}

struct profcol_error *importer_string(struct importer *importer, int64_t index, const char *what,
				      size_t number, uint32_t *ret)
{
	struct profcol_error *error = NULL;

	if (index < 0 || (uint64_t)index >= importer->file->n_string_table)
		return PPROF_MALFORMED("%s %zu refers to string %" PRId64 " of %zu", what, number,
				       index, importer->file->n_string_table);
	if (importer->strings[index] == STRING_UNUSED)
		error = add_string(importer, &importer->file->string_table[index],
				   &importer->strings[index]);
	*ret = importer->strings[index];
	return error;
}

struct any_item importer_item(const struct importer *importer, uint32_t string)
{
	struct profcol_text text =
		profcol_batch_string(profcol_builder_peek(importer->builder), string);

	return (struct any_item){ .bytes = text.bytes, .length = text.length };
}

uint32_t importer_attribute_bool(struct importer *importer, const char *key, bool value)
{
	struct profcol_attribute attribute = {
		.key = profcol_builder_cstring(importer->builder, key),
		.value = { .type = PROFCOL_VALUE_BOOL, .boolean = value },
	};

	return profcol_builder_attribute(importer->builder, &attribute);
}

uint32_t importer_attribute_string(struct importer *importer, const char *key, uint32_t string)
{
	struct profcol_attribute attribute = {
		.key = profcol_builder_cstring(importer->builder, key),
		.value = { .type = PROFCOL_VALUE_STRING, .string = string },
	};

	return profcol_builder_attribute(importer->builder, &attribute);
}

struct profcol_error *importer_attribute_array(struct importer *importer, uint32_t key,
					       const struct any_item *items, size_t count,
					       uint32_t *ret)
{
	struct profcol_attribute attribute = { .key = key };
	size_t length;
	uint8_t *blob = any_array_encode(items, count, importer->budget, &length);

	if (!blob)
		return budget_error(importer->budget);
	attribute.value = (struct profcol_value){
		.type = PROFCOL_VALUE_ARRAY,
		.blob = profcol_builder_blob(importer->builder, blob, length),
	};
	*ret = profcol_builder_attribute(importer->builder, &attribute);
	return NULL;
}

static struct profcol_error *import_scope(struct importer *importer)
{
	size_t count = importer->file->n_sample_type;
	struct profcol_scope scope = { 0 };
	uint32_t attributes[2], attribute_count = 0, preferred, key;
	struct any_item *order;
	struct profcol_error *error;

	error = importer_string(importer, importer->file->default_sample_type,
				"default sample type", 0, &preferred);
	if (error)
		return error;
	order = importer_alloc(importer, count, sizeof(*order));
	if (!order)
		return budget_error(importer->budget);
	for (size_t i = 0; i < count; i++)
		order[i] = (struct any_item){ .number = (int64_t)i };
	if (preferred)
		attributes[attribute_count++] =
			importer_attribute_string(importer, KEY_DEFAULT_SAMPLE_TYPE, preferred);
	if (count) {
		key = profcol_builder_cstring(importer->builder, KEY_SAMPLE_TYPE_ORDER);
		error = importer_attribute_array(importer, key, order, count,
						 &attributes[attribute_count++]);
		if (error)
			return error;
	}
	scope.attributes =
		profcol_builder_attribute_list(importer->builder, attributes, attribute_count);
	profcol_builder_add_resource(importer->builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(importer->builder, &scope);
	return NULL;
}

static struct profcol_error *import_comments(struct importer *importer, uint32_t *ret)
{
	const Perftools__Profile *file = importer->file;
	uint32_t key = profcol_builder_cstring(importer->builder, KEY_COMMENT);
	struct any_item *items = importer_alloc(importer, file->n_comment, sizeof(*items));
	uint32_t *strings = importer_alloc(importer, file->n_comment, sizeof(*strings));
	struct profcol_error *error = NULL;

	if (!items || !strings)
		return budget_error(importer->budget);
	for (size_t i = 0; i < file->n_comment && !error; i++)
		error = importer_string(importer, file->comment[i], "comment", i, &strings[i]);
	if (error)
		return error;
	for (size_t i = 0; i < file->n_comment; i++)
		items[i] = importer_item(importer, strings[i]);
	return importer_attribute_array(importer, key, items, file->n_comment, ret);
}

/* The attributes that all profiles share, as a list. */
static struct profcol_error *import_profile_attributes(struct importer *importer, uint32_t *ret)
{
	const Perftools__Profile *file = importer->file;
	const struct {
		int64_t index;
		const char *what, *key;
	} texts[] = {
		{ file->drop_frames, "drop_frames", KEY_DROP_FRAMES },
		{ file->keep_frames, "keep_frames", KEY_KEEP_FRAMES },
		{ file->doc_url, "doc_url", KEY_DOC_URL },
	};
	uint32_t attributes[4], count = 0, string;
	struct profcol_error *error;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		error = importer_string(importer, texts[i].index, texts[i].what, 0, &string);
		if (error)
			return error;
		if (string)
			attributes[count++] =
				importer_attribute_string(importer, texts[i].key, string);
	}
	if (file->n_comment) {
		error = import_comments(importer, &attributes[count++]);
		if (error)
			return error;
	}
	*ret = profcol_builder_attribute_list(importer->builder, attributes, count);
	return NULL;
}

static struct profcol_error *import_value_type(struct importer *importer,
					       const Perftools__ValueType *type, const char *what,
					       size_t number, uint32_t *type_ret,
					       uint32_t *unit_ret)
{
	struct profcol_error *error;

	error = importer_string(importer, type->type, what, number, type_ret);
	return error ? error : importer_string(importer, type->unit, what, number, unit_ret);
}

/* The samples of a column. The first one keeps also those that are 0 in all columns. */
static struct profcol_error *import_column(struct importer *importer, size_t column)
{
	const Perftools__Profile *file = importer->file;

	for (size_t i = 0; i < file->n_sample; i++) {
		const int64_t *values = file->sample[i]->value;
		struct profcol_sample sample = {
			.stack = importer->stacks[i],
			.attributes = importer->attributes[i],
			.value_count = 1,
			.values = &values[column],
		};
		bool is_wanted = values[column] != 0;

		if (column == 0 && !is_wanted) {
			is_wanted = true;
			for (size_t j = 1; j < file->n_sample_type; j++)
				is_wanted &= values[j] == 0;
		}
		if (is_wanted)
			profcol_builder_add_sample(importer->builder, &sample);
		if (i % SAMPLES_BETWEEN_MEMORY_CHECKS == 0) {
			struct profcol_error *error = importer_check_memory(importer);

			if (error)
				return error;
		}
	}
	return NULL;
}

static struct profcol_error *import_profiles(struct importer *importer)
{
	const Perftools__Profile *file = importer->file;
	struct profcol_profile profile = {
		.period = file->period,
		.time_unix_ns = (uint64_t)file->time_nanos,
		.duration_ns = (uint64_t)file->duration_nanos,
	};
	struct profcol_error *error;

	if (file->n_sample_type > PPROF_MAX_COLUMNS)
		return PPROF_MALFORMED("there are %zu sample types, more than %d",
				       file->n_sample_type, PPROF_MAX_COLUMNS);
	error = import_profile_attributes(importer, &profile.attributes);
	if (!error && file->period_type)
		error = import_value_type(importer, file->period_type, "period type", 0,
					  &profile.period_type, &profile.period_unit);
	for (size_t i = 0; i < file->n_sample_type && !error; i++) {
		error = import_value_type(importer, file->sample_type[i], "sample type", i,
					  &profile.sample_type, &profile.sample_unit);
		if (error)
			break;
		profcol_builder_add_profile(importer->builder, &profile);
		error = import_column(importer, i);
	}
	return error;
}

static struct profcol_error *import_all(struct importer *importer)
{
	struct profcol_error *error;

	if (!importer->builder)
		return importer_no_memory();
	error = importer_add_strings(importer);
	if (!error)
		error = importer_add_tables(importer);
	if (!error)
		error = importer_add_stacks(importer);
	if (!error)
		error = import_scope(importer);
	if (!error)
		error = import_profiles(importer);
	return error ? error : importer_check_memory(importer);
}

struct profcol_error *pprof_import(const Perftools__Profile *file, struct budget *budget,
				   struct profcol_batch **ret)
{
	struct importer importer = {
		.file = file,
		.budget = budget,
		.builder = profcol_builder_create(),
	};
	struct profcol_error *error;

	id_map_init(&importer.mappings);
	id_map_init(&importer.functions);
	id_map_init(&importer.locations);
	error = import_all(&importer);
	if (error)
		profcol_builder_destroy(importer.builder);
	else
		error = profcol_builder_seal(importer.builder, ret);
	id_map_deinit(&importer.mappings);
	id_map_deinit(&importer.functions);
	id_map_deinit(&importer.locations);
	return error;
}
