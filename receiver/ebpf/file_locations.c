// SPDX-License-Identifier: Apache-2.0
#include "locations_parts.h"

#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rust's own mangling, or its older one: C++'s, with a hash as the last part of the name. */
static bool is_of_rust(const char *symbol)
{
	enum { HASH_DIGITS = 16 };
	const char *hash = symbol;

	if (symbol[1] == 'R')
		return true;
	while ((hash = strstr(hash, "17h"))) {
		hash += 3;
		if (strspn(hash, "0123456789abcdef") == HASH_DIGITS && hash[HASH_DIGITS] == 'E')
			return true;
	}
	return false;
}

/*
 * Only Go's linker writes a Go build id. C++ and Rust code that was linked in through cgo shows by
 * its mangled names, which Go's never are; C functions are named like those of Go's assembly.
 */
static uint32_t file_frame_type(struct resolving *resolving, const struct symbol_query *query)
{
	// A system name alone says nothing: a cut name and one with a version have it too.
	const char *symbol = query->system_name ? query->system_name : "";
	bool is_mangled = symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');

	if (is_mangled && is_of_rust(symbol)) {
		if (!resolving->rust_type)
			resolving->rust_type = location_frame_type(resolving->builder, "rust");
		return resolving->rust_type;
	}
	return is_mangled ? resolving->native_type : resolving->file_type;
}

/* The last part of @path, as it is called where the file is there still. */
static void keep_file_name(struct resolving *resolving, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name), end = sizeof(deleted) - 1;

	if (length > end && !strcmp(name + length - end, deleted))
		length -= end;
	snprintf(resolving->file_name, sizeof(resolving->file_name), "%.*s", (int)length, name);
}

/*
 * From now on it is about file @id. While the worker has not answered, its content says which build
 * it is. A file of which nothing is known has no mapping, for every mapping has to say that.
 */
static void resolve_file(struct resolving *resolving, uint32_t id)
{
	struct profcol_builder *builder = resolving->builder;
	struct symbol_file file = { 0 };
	CLEANUP_FREE char *path = NULL;
	char htlhash[33];

	resolving->file = id;
	resolving->file_type = resolving->native_type;
	resolving->has_mapping = symbols_file(resolving->parts->symbols, id, &file);
	resolving->is_read = resolving->has_mapping;
	resolving->file_name[0] = '\0';
	if (!resolving->has_mapping && id == SYMBOLS_VDSO)
		resolving->has_mapping = symbols_vdso(resolving->parts->symbols, &file);
	if (!resolving->has_mapping) {
		if (!processes_file_htlhash(resolving->parts->processes, id, htlhash))
			return;
		file.htlhash = htlhash;
		resolving->has_mapping = true;
	}
	resolving->build_ids = location_build_ids(builder, &file);
	if (file.build_id_go && file.build_id_go[0])
		resolving->file_type = location_frame_type(builder, "go");
	path = id == SYMBOLS_VDSO ? strdup("linux-vdso.1.so")
				  : processes_file_path(resolving->parts->processes, id);
	resolving->filename = text_string(builder, path ? path : "");
	keep_file_name(resolving, path ? path : "");
}

/*
 * What is shown of a frame that has no name: the place where its function begins, which is the same
 * in every process and wherever there is that build. A file that is no program holds code that a
 * process has written to it. False: nothing is known but the file.
 */
static bool file_label(const struct resolving *resolving, const struct symbol_query *query,
		       bool has_segment, char label[LABEL_BYTES])
{
	if (query->name || !resolving->file_name[0])
		return false;
	if (query->unnamed)
		snprintf(label, LABEL_BYTES, "%s+0x%" PRIx64, resolving->file_name, query->entry);
	else if (resolving->is_read && !has_segment)
		snprintf(label, LABEL_BYTES, "[JIT %s]", resolving->file_name);
	return query->unnamed || (resolving->is_read && !has_segment);
}

static struct profcol_line file_line(struct profcol_builder *builder,
				     const struct symbol_line *line)
{
	const struct profcol_function function = {
		.name = profcol_builder_cstring(builder, line->function),
		.filename = *line->file ? profcol_builder_cstring(builder, line->file) : 0,
		.start_line = line->start_line,
	};

	return (struct profcol_line){
		.function = profcol_builder_function(builder, &function),
		.line = line->line,
	};
}

/* Where a language runtime knows which functions run. */
static uint32_t lines_location(struct resolving *resolving, const struct symbol_query *query,
			       uint32_t mapping)
{
	struct profcol_line lines[RUNTIME_LINES];
	struct profcol_location location = {
		.mapping = mapping,
		.attributes = location_runtime_type(resolving, query->runtime),
		.address = query->elf_address,
		.lines = lines,
	};

	for (uint32_t i = 0; i < query->line_count && i < RUNTIME_LINES; i++)
		lines[location.line_count++] = file_line(resolving->builder, &query->lines[i]);
	return profcol_builder_location(resolving->builder, &location);
}

uint32_t location_of_file(struct resolving *resolving, const struct symbol_query *query)
{
	struct profcol_builder *builder = resolving->builder;
	struct frame_words words = {
		.name = query->name,
		.system_name = resolving->parts->system_names ? query->system_name : NULL,
	};
	struct profcol_mapping mapping = { 0 };
	char label[LABEL_BYTES];
	bool has_segment = false;
	uint32_t id = 0;

	if (query->file != resolving->file)
		resolve_file(resolving, query->file);
	if (resolving->has_mapping) {
		mapping.filename = resolving->filename;
		mapping.attributes = resolving->build_ids;
		has_segment = symbols_file_segment(resolving->parts->symbols, query->file,
						   query->file_offset, &mapping.memory_start,
						   &mapping.memory_limit, &mapping.file_offset);
		id = profcol_builder_mapping(builder, &mapping);
	}
	if (query->line_count)
		return lines_location(resolving, query, id);
	if (file_label(resolving, query, has_segment, label))
		words = location_unnamed_words(resolving, label);
	return location_add(builder, file_frame_type(resolving, query), id, query->elf_address,
			    words);
}
