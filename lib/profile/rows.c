// SPDX-License-Identifier: Apache-2.0
/* Rows of a builder, changed in place. */
#include "builder.h"
#include "profile.h"

void profile_set_resource(struct profcol_builder *builder, uint32_t row,
			  const struct profcol_resource *resource)
{
	struct resource_row *to = builder_edit(builder, PROFCOL_RESOURCES, COLUMN_RESOURCE, row);

	if (to)
		to->resource = *resource;
}

void profile_set_scope(struct profcol_builder *builder, uint32_t row,
		       const struct profcol_scope *scope)
{
	struct scope_row *to = builder_edit(builder, PROFCOL_SCOPES, COLUMN_SCOPE, row);

	if (to)
		to->scope = *scope;
}

void profile_set_profile(struct profcol_builder *builder, uint32_t row,
			 const struct profcol_profile *profile)
{
	struct profile_row *to = builder_edit(builder, PROFCOL_PROFILES, COLUMN_PROFILE, row);

	if (to)
		to->profile = *profile;
}

void profile_set_mapping_filename(struct profcol_builder *builder, uint32_t mapping,
				  uint32_t filename)
{
	struct profcol_mapping *to =
		builder_edit_entry(builder, PROFCOL_MAPPINGS, COLUMN_MAPPING, mapping);

	if (to)
		to->filename = filename;
}

void profile_set_line_function(struct profcol_builder *builder, uint32_t location, uint32_t index,
			       uint32_t function)
{
	const struct profcol_location row = profcol_batch_location(builder->batch, location);
	const struct profcol_line *lines;
	struct profcol_line *to;

	if (index >= row.line_count)
		return;
	lines = COLUMN(builder->batch, COLUMN_LINE, struct profcol_line);
	intern_clear(&builder->indexes[PROFCOL_LOCATIONS]);
	to = builder_edit(builder, PROFCOL_LOCATIONS, COLUMN_LINE,
			  (uint32_t)(row.lines - lines) + index);
	if (to)
		to->function = function;
	if (location < builder->checked[PROFCOL_LOCATIONS])
		builder->checked[PROFCOL_LOCATIONS] = location;
}
