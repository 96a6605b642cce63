// SPDX-License-Identifier: Apache-2.0
#include "string_table.h"

#include <stdlib.h>

static void mark_dictionary(const struct profcol_batch *batch, uint32_t *used)
{
	const struct profcol_function *functions =
		COLUMN(batch, COLUMN_FUNCTION, struct profcol_function);
	const struct profcol_mapping *mappings =
		COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping);
	const struct profcol_attribute *attributes =
		COLUMN(batch, COLUMN_ATTRIBUTE, struct profcol_attribute);

	for (uint32_t i = 0; i < column_length(batch, COLUMN_FUNCTION); i++) {
		used[functions[i].name] = 1;
		used[functions[i].system_name] = 1;
		used[functions[i].filename] = 1;
	}
	for (uint32_t i = 0; i < column_length(batch, COLUMN_MAPPING); i++)
		used[mappings[i].filename] = 1;
	for (uint32_t i = 0; i < column_length(batch, COLUMN_ATTRIBUTE); i++) {
		used[attributes[i].key] = 1;
		used[attributes[i].unit] = 1;
	}
}

static void mark_profiles(const struct profcol_batch *batch, uint32_t *used)
{
	const struct profile_row *profiles = COLUMN(batch, COLUMN_PROFILE, struct profile_row);

	for (uint32_t i = 0; i < column_length(batch, COLUMN_PROFILE); i++) {
		used[profiles[i].profile.sample_type] = 1;
		used[profiles[i].profile.sample_unit] = 1;
		used[profiles[i].profile.period_type] = 1;
		used[profiles[i].profile.period_unit] = 1;
	}
}

void string_table_init(struct string_table *table, const struct profcol_batch *batch)
{
	uint32_t count = column_length(batch, COLUMN_STRING_END), next = 1;

	*table = (struct string_table){ .batch = batch };
	if (count)
		table->indices = calloc(count, sizeof(*table->indices));
	if (!table->indices)
		return;
	mark_dictionary(batch, table->indices);
	mark_profiles(batch, table->indices);
	table->indices[0] = 0;
	for (uint32_t i = 1; i < count; i++)
		if (table->indices[i])
			table->indices[i] = next++;
}

void string_table_deinit(struct string_table *table)
{
	free(table->indices);
}
