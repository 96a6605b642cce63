// SPDX-License-Identifier: Apache-2.0
#include "importer.h"

#include "keys.h"

#include <errno.h>
#include <inttypes.h>

struct profcol_error *importer_add_strings(struct importer *importer)
{
	const Perftools__Profile *file = importer->file;

	if (!file->n_string_table)
		return PPROF_MALFORMED("there is no string table");
	if (file->string_table[0].len)
		return PPROF_MALFORMED("string 0 is not empty");
	importer->strings =
		importer_alloc(importer, file->n_string_table, sizeof(*importer->strings));
	if (!importer->strings)
		return budget_error(importer->budget);
	for (size_t i = 0; i < file->n_string_table; i++)
		importer->strings[i] = STRING_UNUSED;
	return NULL;
}

static struct profcol_error *import_id(struct id_map *map, const char *what, size_t number,
				       uint64_t id, uint32_t row)
{
	switch (id_map_add(map, id, row)) {
	case 0:
		return NULL;
	case -EINVAL:
		return PPROF_MALFORMED("%s %zu has id 0", what, number);
	case -EEXIST:
		return PPROF_MALFORMED("%s %zu has id %" PRIu64 ", which another one has", what,
				       number, id);
	default:
		return importer_no_memory();
	}
}

static struct profcol_error *import_mapping(struct importer *importer, size_t number)
{
	const Perftools__Mapping *mapping = importer->file->mapping[number];
	struct profcol_mapping row = {
		.memory_start = mapping->memory_start,
		.memory_limit = mapping->memory_limit,
		.file_offset = mapping->file_offset,
	};
	uint32_t attributes[5], count = 0, build_id;
	struct profcol_error *error;

	error = importer_string(importer, mapping->filename, "mapping", number, &row.filename);
	if (!error)
		error = importer_string(importer, mapping->build_id, "mapping", number, &build_id);
	if (error)
		return error;
	if (build_id)
		attributes[count++] =
			importer_attribute_string(importer, KEY_BUILD_ID_GNU, build_id);
	// Stated also when false: without, the encoder would conclude them from the lines.
	attributes[count++] =
		importer_attribute_bool(importer, KEY_HAS_FUNCTIONS, mapping->has_functions);
	attributes[count++] =
		importer_attribute_bool(importer, KEY_HAS_FILENAMES, mapping->has_filenames);
	attributes[count++] =
		importer_attribute_bool(importer, KEY_HAS_LINE_NUMBERS, mapping->has_line_numbers);
	attributes[count++] = importer_attribute_bool(importer, KEY_HAS_INLINE_FRAMES,
						      mapping->has_inline_frames);
	row.attributes = profcol_builder_attribute_list(importer->builder, attributes, count);
	return import_id(&importer->mappings, "mapping", number, mapping->id,
			 profcol_builder_mapping(importer->builder, &row));
}

static struct profcol_error *import_function(struct importer *importer, size_t number)
{
	const Perftools__Function *function = importer->file->function[number];
	struct profcol_function row = { .start_line = function->start_line };
	struct profcol_error *error;

	error = importer_string(importer, function->name, "function", number, &row.name);
	if (!error)
		error = importer_string(importer, function->system_name, "function", number,
					&row.system_name);
	if (!error)
		error = importer_string(importer, function->filename, "function", number,
					&row.filename);
	if (error)
		return error;
	return import_id(&importer->functions, "function", number, function->id,
			 profcol_builder_function(importer->builder, &row));
}

static struct profcol_error *import_location(struct importer *importer, size_t number)
{
	const Perftools__Location *location = importer->file->location[number];
	struct profcol_location row = { .address = location->address };
	struct profcol_line *lines;

	lines = importer_alloc(importer, location->n_line, sizeof(*lines));
	if (!lines)
		return budget_error(importer->budget);
	for (size_t i = 0; i < location->n_line; i++) {
		const Perftools__Line *line = location->line[i];

		lines[i] = (struct profcol_line){ .line = line->line, .column = line->column };
		if (!id_map_find(&importer->functions, line->function_id, &lines[i].function))
			return PPROF_MALFORMED("location %zu refers to function id %" PRIu64
					       ", which does not exist",
					       number, line->function_id);
	}
	row.lines = lines;
	row.line_count = (uint32_t)location->n_line;
	// A mapping that does not exist counts as none, to pprof too.
	if (!id_map_find(&importer->mappings, location->mapping_id, &row.mapping))
		row.mapping = 0;
	if (location->is_folded) {
		uint32_t folded = importer_attribute_bool(importer, KEY_IS_FOLDED, true);

		row.attributes = profcol_builder_attribute_list(importer->builder, &folded, 1);
	}
	return import_id(&importer->locations, "location", number, location->id,
			 profcol_builder_location(importer->builder, &row));
}

struct profcol_error *importer_add_tables(struct importer *importer)
{
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < importer->file->n_mapping && !error; i++)
		error = import_mapping(importer, i);
	for (size_t i = 0; i < importer->file->n_function && !error; i++)
		error = import_function(importer, i);
	for (size_t i = 0; i < importer->file->n_location && !error; i++)
		error = import_location(importer, i);
	return error ? error : importer_check_memory(importer);
}
