// SPDX-License-Identifier: Apache-2.0
#include "numbering.h"

#include "base/base.h"

#include <stdlib.h>

/* The attributes of the lists that something refers to by index. @is_used has a flag per list. */
static void mark_attributes(struct numbering *numbering, bool *is_used)
{
	const struct profcol_batch *batch = numbering->batch;
	const uint32_t *samples = COLUMN(batch, COLUMN_SAMPLE_ATTRIBUTES, uint32_t);
	const struct location_row *locations = COLUMN(batch, COLUMN_LOCATION, struct location_row);
	const struct profcol_mapping *mappings =
		COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping);
	const struct profile_row *profiles = COLUMN(batch, COLUMN_PROFILE, struct profile_row);
	const uint32_t *items = COLUMN(batch, COLUMN_ATTRIBUTE_LIST_ITEM, uint32_t);
	const uint32_t *ends = COLUMN(batch, COLUMN_ATTRIBUTE_LIST_END, uint32_t);

	for (uint32_t i = 0; i < column_length(batch, COLUMN_SAMPLE_ATTRIBUTES); i++)
		is_used[samples[i]] = true;
	for (uint32_t i = 0; i < column_length(batch, COLUMN_LOCATION); i++)
		is_used[locations[i].attributes] = true;
	for (uint32_t i = 0; i < column_length(batch, COLUMN_MAPPING); i++)
		is_used[mappings[i].attributes] = true;
	for (uint32_t i = 0; i < column_length(batch, COLUMN_PROFILE); i++)
		is_used[profiles[i].profile.attributes] = true;
	for (uint32_t i = 1; i < column_length(batch, COLUMN_ATTRIBUTE_LIST_END); i++)
		for (uint32_t at = ends[i - 1]; is_used[i] && at < ends[i]; at++)
			numbering->attributes[items[at]] = 1;
}

static void mark_strings(struct numbering *numbering)
{
	const struct profcol_batch *batch = numbering->batch;
	const struct profcol_function *functions =
		COLUMN(batch, COLUMN_FUNCTION, struct profcol_function);
	const struct profcol_mapping *mappings =
		COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping);
	const struct profcol_attribute *attributes =
		COLUMN(batch, COLUMN_ATTRIBUTE, struct profcol_attribute);
	const struct profile_row *profiles = COLUMN(batch, COLUMN_PROFILE, struct profile_row);
	uint32_t *used = numbering->strings;

	for (uint32_t i = 0; i < column_length(batch, COLUMN_FUNCTION); i++) {
		used[functions[i].name] = 1;
		used[functions[i].system_name] = 1;
		used[functions[i].filename] = 1;
	}
	for (uint32_t i = 0; i < column_length(batch, COLUMN_MAPPING); i++)
		used[mappings[i].filename] = 1;
	for (uint32_t i = 0; i < column_length(batch, COLUMN_ATTRIBUTE); i++) {
		if (!numbering->attributes[i])
			continue;
		used[attributes[i].key] = 1;
		used[attributes[i].unit] = 1;
	}
	for (uint32_t i = 0; i < column_length(batch, COLUMN_PROFILE); i++) {
		used[profiles[i].profile.sample_type] = 1;
		used[profiles[i].profile.sample_unit] = 1;
		used[profiles[i].profile.period_type] = 1;
		used[profiles[i].profile.period_unit] = 1;
	}
}

/* Keys, and values that are strings, of the attributes in @list. */
static void mark_references(struct numbering *numbering, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(numbering->batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(numbering->batch, ids[i]);

		numbering->strings[attribute.key] = 1;
		if (attribute.value.type == PROFCOL_VALUE_STRING)
			numbering->strings[attribute.value.string] = 1;
	}
}

static void mark_all_references(struct numbering *numbering)
{
	const struct profcol_batch *batch = numbering->batch;
	const struct resource_row *resources = COLUMN(batch, COLUMN_RESOURCE, struct resource_row);
	const struct scope_row *scopes = COLUMN(batch, COLUMN_SCOPE, struct scope_row);

	for (uint32_t i = 0; i < column_length(batch, COLUMN_RESOURCE); i++)
		mark_references(numbering, resources[i].resource.attributes);
	for (uint32_t i = 0; i < column_length(batch, COLUMN_SCOPE); i++)
		mark_references(numbering, scopes[i].scope.attributes);
}

/* Turn marks into indices. Row 0 keeps 0. */
static void number_rows(uint32_t *rows, uint32_t count)
{
	uint32_t next = 1;

	rows[0] = 0;
	for (uint32_t i = 1; i < count; i++)
		if (rows[i])
			rows[i] = next++;
}

static void number_list_items(struct numbering *numbering)
{
	const uint32_t *items = COLUMN(numbering->batch, COLUMN_ATTRIBUTE_LIST_ITEM, uint32_t);

	for (uint32_t i = 0; i < column_length(numbering->batch, COLUMN_ATTRIBUTE_LIST_ITEM); i++)
		numbering->list_items[i] = numbering->attributes[items[i]];
}

void numbering_init(struct numbering *numbering, const struct profcol_batch *batch, bool references)
{
	uint32_t strings = column_length(batch, COLUMN_STRING_END);
	uint32_t attributes = column_length(batch, COLUMN_ATTRIBUTE);
	CLEANUP_FREE bool *is_used =
		calloc(column_length(batch, COLUMN_ATTRIBUTE_LIST_END) + 1ul, sizeof(bool));

	*numbering = (struct numbering){
		.strings = calloc(strings + 1ul, sizeof(uint32_t)),
		.attributes = calloc(attributes + 1ul, sizeof(uint32_t)),
		.list_items = calloc(column_length(batch, COLUMN_ATTRIBUTE_LIST_ITEM) + 1ul,
				     sizeof(uint32_t)),
		.batch = batch,
	};
	if (!is_used || !numbering->strings || !numbering->attributes || !numbering->list_items) {
		numbering_deinit(numbering);
		*numbering = (struct numbering){ .batch = batch };
		return;
	}
	mark_attributes(numbering, is_used);
	mark_strings(numbering);
	if (references)
		mark_all_references(numbering);
	number_rows(numbering->strings, strings);
	number_rows(numbering->attributes, attributes);
	number_list_items(numbering);
}

void numbering_deinit(struct numbering *numbering)
{
	free(numbering->strings);
	free(numbering->attributes);
	free(numbering->list_items);
}
