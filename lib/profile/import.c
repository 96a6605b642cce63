// SPDX-License-Identifier: Apache-2.0
#include "import.h"

#include <stdlib.h>

bool import_init(struct import *import, const struct profcol_batch *from,
		 struct profcol_builder *to)
{
	size_t rows = 0;

	*import = (struct import){ .from = from, .to = to };
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++)
		rows += profcol_batch_count(from, table);
	import->ids = calloc(rows, sizeof(*import->ids));
	if (!import->ids)
		return false;
	rows = 0;
	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++) {
		import->tables[table] = import->ids + rows;
		rows += profcol_batch_count(from, table);
	}
	return true;
}

void import_deinit(struct import *import)
{
	free(import->ids);
	VECTOR_DEINIT(&import->stack);
	VECTOR_DEINIT(&import->list);
	VECTOR_DEINIT(&import->lines);
}

/* Row 0 is row 0 everywhere. */
static bool import_known(const struct import *import, enum profcol_table table, uint32_t id,
			 uint32_t *ret)
{
	*ret = id ? import->tables[table][id] - 1 : 0;
	return *ret != UINT32_MAX;
}

static uint32_t import_done(struct import *import, enum profcol_table table, uint32_t id,
			    uint32_t new_id)
{
	import->tables[table][id] = new_id + 1;
	return new_id;
}

static uint32_t import_string(struct import *import, uint32_t id)
{
	struct profcol_text text;
	uint32_t known;

	if (import_known(import, PROFCOL_STRINGS, id, &known))
		return known;
	text = profcol_batch_string(import->from, id);
	return import_done(import, PROFCOL_STRINGS, id,
			   profcol_builder_string(import->to, text.bytes, text.length));
}

static uint32_t import_blob(struct import *import, uint32_t id)
{
	struct profcol_text blob;
	uint32_t known;

	if (import_known(import, PROFCOL_BLOBS, id, &known))
		return known;
	blob = profcol_batch_blob(import->from, id);
	return import_done(import, PROFCOL_BLOBS, id,
			   profcol_builder_blob(import->to, blob.bytes, blob.length));
}

static uint32_t import_attribute(struct import *import, uint32_t id)
{
	struct profcol_attribute attribute;
	uint32_t known;

	if (import_known(import, PROFCOL_ATTRIBUTES, id, &known))
		return known;
	attribute = profcol_batch_attribute(import->from, id);
	attribute.key = import_string(import, attribute.key);
	attribute.unit = import_string(import, attribute.unit);
	switch (attribute.value.type) {
	case PROFCOL_VALUE_STRING:
		attribute.value.string = import_string(import, attribute.value.string);
		break;
	case PROFCOL_VALUE_BYTES:
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		attribute.value.blob = import_blob(import, attribute.value.blob);
		break;
	case PROFCOL_VALUE_EMPTY:
	case PROFCOL_VALUE_BOOL:
	case PROFCOL_VALUE_INT:
	case PROFCOL_VALUE_DOUBLE:
		break;
	}
	return import_done(import, PROFCOL_ATTRIBUTES, id,
			   profcol_builder_attribute(import->to, &attribute));
}

static uint32_t import_out_of_memory(struct import *import)
{
	import->to->out_of_memory = true;
	return 0;
}

static uint32_t import_attribute_list(struct import *import, uint32_t id)
{
	const uint32_t *attributes;
	uint32_t known, count;

	if (import_known(import, PROFCOL_ATTRIBUTE_LISTS, id, &known))
		return known;
	attributes = profcol_batch_attribute_list(import->from, id, &count);
	import->list.count = 0;
	if (!VECTOR_RESERVE(&import->list, count))
		return import_out_of_memory(import);
	for (uint32_t i = 0; i < count; i++)
		import->list.items[i] = import_attribute(import, attributes[i]);
	return import_done(import, PROFCOL_ATTRIBUTE_LISTS, id,
			   profcol_builder_attribute_list(import->to, import->list.items, count));
}

static uint32_t import_function(struct import *import, uint32_t id)
{
	struct profcol_function function;
	uint32_t known;

	if (import_known(import, PROFCOL_FUNCTIONS, id, &known))
		return known;
	function = profcol_batch_function(import->from, id);
	function.name = import_string(import, function.name);
	function.system_name = import_string(import, function.system_name);
	function.filename = import_string(import, function.filename);
	return import_done(import, PROFCOL_FUNCTIONS, id,
			   profcol_builder_function(import->to, &function));
}

static uint32_t import_mapping(struct import *import, uint32_t id)
{
	struct profcol_mapping mapping;
	uint32_t known;

	if (import_known(import, PROFCOL_MAPPINGS, id, &known))
		return known;
	mapping = profcol_batch_mapping(import->from, id);
	mapping.filename = import_string(import, mapping.filename);
	mapping.attributes = import_attribute_list(import, mapping.attributes);
	return import_done(import, PROFCOL_MAPPINGS, id,
			   profcol_builder_mapping(import->to, &mapping));
}

static uint32_t import_location(struct import *import, uint32_t id)
{
	struct profcol_location location;
	uint32_t known;

	if (import_known(import, PROFCOL_LOCATIONS, id, &known))
		return known;
	location = profcol_batch_location(import->from, id);
	import->lines.count = 0;
	if (!VECTOR_RESERVE(&import->lines, location.line_count))
		return import_out_of_memory(import);
	for (uint32_t i = 0; i < location.line_count; i++) {
		struct profcol_line *line = &import->lines.items[i];

		*line = location.lines[i];
		line->function = import_function(import, line->function);
	}
	location.lines = import->lines.items;
	location.mapping = import_mapping(import, location.mapping);
	location.attributes = import_attribute_list(import, location.attributes);
	return import_done(import, PROFCOL_LOCATIONS, id,
			   profcol_builder_location(import->to, &location));
}

static uint32_t import_stack(struct import *import, uint32_t id)
{
	const uint32_t *locations;
	uint32_t known, count;

	if (import_known(import, PROFCOL_STACKS, id, &known))
		return known;
	locations = profcol_batch_stack(import->from, id, &count);
	import->stack.count = 0;
	if (!VECTOR_RESERVE(&import->stack, count))
		return import_out_of_memory(import);
	for (uint32_t i = 0; i < count; i++)
		import->stack.items[i] = import_location(import, locations[i]);
	return import_done(import, PROFCOL_STACKS, id,
			   profcol_builder_stack(import->to, import->stack.items, count));
}

static uint32_t import_link(struct import *import, uint32_t id)
{
	struct profcol_link link;
	uint32_t known;

	if (import_known(import, PROFCOL_LINKS, id, &known))
		return known;
	link = profcol_batch_link(import->from, id);
	return import_done(import, PROFCOL_LINKS, id, profcol_builder_link(import->to, &link));
}

typedef uint32_t (*import_row_function)(struct import *import, uint32_t id);

void import_dictionary(struct import *import)
{
	/* A table after those that it refers to. */
	static const struct {
		enum profcol_table table;
		import_row_function row;
	} tables[] = {
		{ PROFCOL_STRINGS, import_string },
		{ PROFCOL_BLOBS, import_blob },
		{ PROFCOL_ATTRIBUTES, import_attribute },
		{ PROFCOL_ATTRIBUTE_LISTS, import_attribute_list },
		{ PROFCOL_MAPPINGS, import_mapping },
		{ PROFCOL_FUNCTIONS, import_function },
		{ PROFCOL_LOCATIONS, import_location },
		{ PROFCOL_STACKS, import_stack },
		{ PROFCOL_LINKS, import_link },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		uint32_t rows = profcol_batch_count(import->from, tables[i].table);

		for (uint32_t id = 1; id < rows; id++)
			tables[i].row(import, id);
	}
}

uint32_t import_id(struct import *import, enum profcol_table table, uint32_t id)
{
	static const import_row_function rows[DICTIONARY_TABLES] = {
		[PROFCOL_STRINGS] = import_string,
		[PROFCOL_BLOBS] = import_blob,
		[PROFCOL_FUNCTIONS] = import_function,
		[PROFCOL_MAPPINGS] = import_mapping,
		[PROFCOL_LOCATIONS] = import_location,
		[PROFCOL_STACKS] = import_stack,
		[PROFCOL_ATTRIBUTES] = import_attribute,
		[PROFCOL_ATTRIBUTE_LISTS] = import_attribute_list,
		[PROFCOL_LINKS] = import_link,
	};

	return rows[table](import, id);
}

/* ---- tree ---- */

struct profcol_resource import_resource(struct import *import,
					const struct profcol_resource *resource)
{
	struct profcol_resource imported = *resource;

	imported.attributes = import_attribute_list(import, resource->attributes);
	imported.schema_url = import_string(import, resource->schema_url);
	imported.entity_refs = import_blob(import, resource->entity_refs);
	return imported;
}

struct profcol_scope import_scope(struct import *import, const struct profcol_scope *scope)
{
	struct profcol_scope imported = *scope;

	imported.name = import_string(import, scope->name);
	imported.version = import_string(import, scope->version);
	imported.attributes = import_attribute_list(import, scope->attributes);
	imported.schema_url = import_string(import, scope->schema_url);
	return imported;
}

struct profcol_profile import_profile(struct import *import, const struct profcol_profile *profile)
{
	struct profcol_profile imported = *profile;

	imported.sample_type = import_string(import, profile->sample_type);
	imported.sample_unit = import_string(import, profile->sample_unit);
	imported.period_type = import_string(import, profile->period_type);
	imported.period_unit = import_string(import, profile->period_unit);
	imported.attributes = import_attribute_list(import, profile->attributes);
	imported.original_payload_format = import_string(import, profile->original_payload_format);
	imported.original_payload = import_blob(import, profile->original_payload);
	return imported;
}

void import_sample(struct import *import, const struct profcol_sample *sample)
{
	struct profcol_sample imported = *sample;

	imported.stack = import_stack(import, sample->stack);
	imported.attributes = import_attribute_list(import, sample->attributes);
	imported.link = import_link(import, sample->link);
	profcol_builder_add_sample(import->to, &imported);
}

void import_samples(struct import *import, uint32_t begin, uint32_t end)
{
	for (uint32_t row = begin; row < end; row++) {
		struct profcol_sample sample = profcol_batch_sample(import->from, row);

		import_sample(import, &sample);
	}
}
