// SPDX-License-Identifier: Apache-2.0
#include "locations.h"

#include "text.h"

#include <string.h>

void locations_deinit(struct locations *locations)
{
	VECTOR_DEINIT(&locations->ids);
	VECTOR_DEINIT(&locations->frames);
	VECTOR_DEINIT(&locations->queries);
	VECTOR_DEINIT(&locations->query_frames);
}

/* What one build needs everywhere, and what many locations share, interned once. */
struct resolving {
	struct profcol_builder *builder;
	struct processes *processes;
	struct symbols *symbols;
	uint32_t kernel_type, native_type; /* attribute lists */

	// Of the last file: frames that follow each other are mostly of one.
	uint32_t file, filename, build_ids, file_type;
	bool has_mapping;
};

static uint32_t frame_type(struct profcol_builder *builder, const char *type)
{
	uint32_t attribute =
		profcol_builder_attribute_string(builder, "profile.frame.type", type, strlen(type));

	return profcol_builder_attribute_list(builder, &attribute, 1);
}

/* A location at @address of @mapping with at most one line, of the function @name. */
static uint32_t add_location(struct profcol_builder *builder, uint32_t type, uint32_t mapping,
			     uint64_t address, const char *name, const char *system_name)
{
	struct profcol_line line = { 0 };
	struct profcol_location location = {
		.mapping = mapping,
		.attributes = type,
		.address = address,
		.lines = &line,
		.line_count = name != NULL,
	};

	if (name) {
		struct profcol_function function = {
			.name = profcol_builder_cstring(builder, name),
			.system_name =
				system_name ? profcol_builder_cstring(builder, system_name) : 0,
		};

		line.function = profcol_builder_function(builder, &function);
	}
	return profcol_builder_location(builder, &location);
}

uint32_t locations_add_reason(struct profcol_builder *builder, const char *reason)
{
	return add_location(builder, frame_type(builder, "abort-marker"), 0, 0, reason, NULL);
}

/* The attribute list of a mapping: every build id that is known. */
static uint32_t build_ids(struct profcol_builder *builder, const struct symbol_file *file)
{
	static const char *const keys[] = {
		"process.executable.build_id.gnu",
		"process.executable.build_id.go",
		"process.executable.build_id.htlhash",
	};
	const char *const values[] = { file->build_id_gnu, file->build_id_go, file->htlhash };
	uint32_t attributes[3], count = 0;

	for (size_t i = 0; i < 3; i++)
		if (values[i] && values[i][0])
			attributes[count++] = profcol_builder_attribute_string(
				builder, keys[i], values[i], strlen(values[i]));
	return profcol_builder_attribute_list(builder, attributes, count);
}

/*
 * Kernel addresses are given relative to their module, so that they survive KASLR. BPF programs
 * have no mapping: there is no build that it could be of (semantic conventions, profiles/mappings).
 */
static uint32_t kernel_location(const struct resolving *resolving, uint64_t address)
{
	struct profcol_builder *builder = resolving->builder;
	struct kernel_symbol symbol;
	struct profcol_mapping mapping = { 0 };
	uint32_t id = 0;

	if (!symbols_kernel(resolving->symbols, address, &symbol))
		return add_location(builder, resolving->kernel_type, 0, address, NULL, NULL);
	if (strcmp(symbol.module, "bpf")) {
		struct symbol_file ids = { .build_id_gnu = symbol.build_id_gnu,
					   .htlhash = symbol.htlhash };

		mapping.attributes = build_ids(builder, &ids);
		mapping.filename = profcol_builder_cstring(builder, symbol.module);
		id = profcol_builder_mapping(builder, &mapping);
	}
	return add_location(builder, resolving->kernel_type, id, address - symbol.module_start,
			    symbol.name, NULL);
}

/* Code outside any file: the vDSO, or JIT-compiled code, which has no mapping to be named. */
static uint32_t anonymous_location(const struct resolving *resolving,
				   const struct process_mapping *in, uint64_t address)
{
	struct profcol_builder *builder = resolving->builder;
	struct profcol_mapping mapping = { 0 };
	struct symbol_file ids;

	// 32-bit processes have another vDSO.
	if (!in || strcmp(in->path, "[vdso]") || in->limit <= UINT32_MAX ||
	    !symbols_vdso(resolving->symbols, &ids))
		return add_location(builder, resolving->native_type, 0, address, NULL, NULL);
	mapping.filename = profcol_builder_cstring(builder, "linux-vdso.1.so");
	mapping.attributes = build_ids(builder, &ids);
	// It lies elsewhere in every process: what matters is the place in it.
	return add_location(builder, resolving->native_type,
			    profcol_builder_mapping(builder, &mapping), address - in->start, NULL,
			    NULL);
}

/*
 * Only Go's linker writes a Go build id. C++ and Rust code that was linked in through cgo shows by
 * its mangled names, which Go's never are; C functions are named like those of Go's assembly.
 */
static uint32_t file_frame_type(const struct resolving *resolving, const struct symbol_query *query)
{
	// A system name alone says nothing: a cut name and one with a version have it too.
	const char *symbol = query->system_name ? query->system_name : "";
	bool is_mangled = symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');

	return is_mangled ? resolving->native_type : resolving->file_type;
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
	resolving->has_mapping = symbols_file(resolving->symbols, id, &file);
	if (!resolving->has_mapping) {
		if (!processes_file_htlhash(resolving->processes, id, htlhash))
			return;
		file.htlhash = htlhash;
		resolving->has_mapping = true;
	}
	resolving->build_ids = build_ids(builder, &file);
	if (file.build_id_go && file.build_id_go[0])
		resolving->file_type = frame_type(builder, "go");
	path = processes_file_path(resolving->processes, id);
	resolving->filename = text_string(builder, path ? path : "");
}

static uint32_t file_location(struct resolving *resolving, const struct symbol_query *query)
{
	struct profcol_builder *builder = resolving->builder;
	struct profcol_mapping mapping = { 0 };
	uint32_t id = 0;

	if (query->file != resolving->file)
		resolve_file(resolving, query->file);
	if (resolving->has_mapping) {
		mapping.filename = resolving->filename;
		mapping.attributes = resolving->build_ids;
		symbols_file_segment(resolving->symbols, query->file, query->file_offset,
				     &mapping.memory_start, &mapping.memory_limit,
				     &mapping.file_offset);
		id = profcol_builder_mapping(builder, &mapping);
	}
	return add_location(builder, file_frame_type(resolving, query), id, query->elf_address,
			    query->name, query->system_name);
}

static struct located_frame find_frame(const struct capture *capture, uint32_t frame_id,
				       struct processes *processes)
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	struct located_frame located = { 0 };
	const struct process_key *key;
	struct process_description about;

	if (frame->process == CAPTURE_KERNEL || frame->process == CAPTURE_FILE)
		return located;
	key = &capture->processes.items[frame->process].key;
	if (!processes_find_mapping(processes, key, frame->first_ns, frame->address,
				    &located.mapping)) {
		located.mapping.limit = 0;
		located.not_code = processes_describe(processes, key, frame->first_ns, &about);
	}
	return located;
}

uint32_t locations_code_end(const struct locations *locations, const struct capture *capture,
			    uint32_t stack)
{
	uint32_t limit = capture->stacks.items[stack].limit;
	bool is_return_address = false;

	if (capture->stacks.items[stack].end != UNWIND_END_NO_PROCESS)
		return limit;
	for (uint32_t at = capture_stack_begin(capture, stack); at < limit; at++) {
		uint32_t frame = capture->stack_frames.items[at];

		if (capture->frames.items[frame].process == CAPTURE_KERNEL)
			continue;
		if (is_return_address && locations->frames.items[frame].not_code)
			return at;
		is_return_address = true;
	}
	return limit;
}

static void place_frames(struct locations *locations, const struct capture *capture)
{
	for (uint32_t stack = 0; stack < capture->stacks.count; stack++) {
		uint32_t code_end = locations_code_end(locations, capture, stack);

		for (uint32_t at = capture_stack_begin(capture, stack); at < code_end; at++)
			locations->frames.items[capture->stack_frames.items[at]].is_placed = true;
	}
}

static bool queue_query(struct locations *locations, uint32_t frame_id, uint32_t file,
			uint64_t file_offset)
{
	struct symbol_query query = { .file = file, .file_offset = file_offset };

	return VECTOR_PUSH(&locations->query_frames, frame_id) &&
	       VECTOR_PUSH(&locations->queries, query);
}

/* Resolve what needs no file at once, and queue a query for the rest. */
static bool locate_frame(struct locations *locations, const struct capture *capture,
			 uint32_t frame_id, const struct resolving *resolving)
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	const struct process_mapping *mapping = &locations->frames.items[frame_id].mapping;
	uint32_t *id = &locations->ids.items[frame_id];

	if (frame->process == CAPTURE_FILE)
		return queue_query(locations, frame_id, frame->file, frame->address);
	if (mapping->limit && mapping->file != PROCESS_NO_FILE)
		return queue_query(locations, frame_id, mapping->file,
				   frame->address - mapping->start + mapping->file_offset);
	*id = frame->process == CAPTURE_KERNEL
		      ? kernel_location(resolving, frame->address)
		      : anonymous_location(resolving, mapping->limit ? mapping : NULL,
					   frame->address);
	return true;
}

bool locations_build(struct locations *locations, const struct capture *capture,
		     struct processes *processes, struct symbols *symbols, uint64_t deadline_ns,
		     struct profcol_builder *builder)
{
	struct resolving resolving = {
		.builder = builder,
		.processes = processes,
		.symbols = symbols,
		.kernel_type = frame_type(builder, "kernel"),
		.native_type = frame_type(builder, "native"),
		.file = PROCESS_NO_FILE,
	};

	locations->ids.count = 0;
	locations->queries.count = 0;
	locations->query_frames.count = 0;
	locations->frames.count = 0;
	if (!VECTOR_RESERVE(&locations->ids, capture->frames.count) ||
	    !VECTOR_RESERVE(&locations->frames, capture->frames.count))
		return false;
	locations->ids.count = locations->frames.count = capture->frames.count;
	for (uint32_t frame = 0; frame < capture->frames.count; frame++)
		locations->frames.items[frame] = find_frame(capture, frame, processes);
	place_frames(locations, capture);
	for (uint32_t frame = 0; frame < capture->frames.count; frame++) {
		locations->ids.items[frame] = 0;
		if (locations->frames.items[frame].is_placed &&
		    !locate_frame(locations, capture, frame, &resolving))
			return false;
	}
	symbols_lookup(symbols, locations->queries.items, locations->queries.count, deadline_ns);
	for (size_t i = 0; i < locations->queries.count; i++)
		locations->ids.items[locations->query_frames.items[i]] =
			file_location(&resolving, &locations->queries.items[i]);
	return true;
}
