// SPDX-License-Identifier: Apache-2.0
#include "locations.h"

#include "locations_parts.h"

#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void locations_deinit(struct locations *locations)
{
	VECTOR_DEINIT(&locations->ids);
	VECTOR_DEINIT(&locations->frames);
	VECTOR_DEINIT(&locations->places);
	VECTOR_DEINIT(&locations->counts);
	VECTOR_DEINIT(&locations->kernel);
	VECTOR_DEINIT(&locations->queries);
	VECTOR_DEINIT(&locations->query_frames);
	VECTOR_DEINIT(&locations->shown);
}

uint32_t location_frame_type(struct profcol_builder *builder, const char *type)
{
	uint32_t attribute =
		profcol_builder_attribute_string(builder, "profile.frame.type", type, strlen(type));

	return profcol_builder_attribute_list(builder, &attribute, 1);
}

/* @type, and what is shown of what has no function. */
static uint32_t labelled_type(struct profcol_builder *builder, uint32_t type, const char *label)
{
	uint32_t attributes[2], count;
	const uint32_t *types =
		profcol_batch_attribute_list(profcol_builder_peek(builder), type, &count);

	if (count != 1) // memory was short
		return type;
	attributes[0] = types[0];
	attributes[1] = text_attribute(builder, PROFCOL_FRAME_LABEL, label);
	return profcol_builder_attribute_list(builder, attributes, 2);
}

uint32_t location_add(struct profcol_builder *builder, uint32_t type, uint32_t mapping,
		      uint64_t address, struct frame_words words)
{
	struct profcol_line line = { 0 };
	struct profcol_location location = {
		.mapping = mapping,
		.attributes = type,
		.address = address,
		.lines = &line,
		.line_count = words.name != NULL,
	};

	if (words.name) {
		struct profcol_function function = {
			.name = profcol_builder_cstring(builder, words.name),
			.system_name = words.system_name
					       ? profcol_builder_cstring(builder, words.system_name)
					       : 0,
		};

		line.function = profcol_builder_function(builder, &function);
	} else if (words.label) {
		location.attributes = labelled_type(builder, type, words.label);
	}
	return profcol_builder_location(builder, &location);
}

struct frame_words location_unnamed_words(const struct resolving *resolving, const char *label)
{
	switch (resolving->parts->unnamed) {
	case UNNAMED_LABEL:
		return (struct frame_words){ .label = label };
	case UNNAMED_FUNCTION:
		return (struct frame_words){ .name = label };
	default:
		return (struct frame_words){ 0 };
	}
}

uint32_t locations_add_reason(struct profcol_builder *builder, const char *reason)
{
	return location_add(builder, location_frame_type(builder, "abort-marker"), 0, 0,
			    (struct frame_words){ .name = reason });
}

uint32_t location_build_ids(struct profcol_builder *builder, const struct symbol_file *file)
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
static uint32_t kernel_location(const struct resolving *resolving, uint64_t address,
				const struct kernel_symbol *symbol)
{
	struct profcol_builder *builder = resolving->builder;
	struct profcol_mapping mapping = { 0 };
	uint32_t id = 0;

	if (!symbol->name)
		return location_add(builder, resolving->kernel_type, 0, address,
				    (struct frame_words){ 0 });
	if (strcmp(symbol->module, "bpf")) {
		struct symbol_file ids = { .build_id_gnu = symbol->build_id_gnu,
					   .htlhash = symbol->htlhash };

		mapping.attributes = location_build_ids(builder, &ids);
		mapping.filename = profcol_builder_cstring(builder, symbol->module);
		id = profcol_builder_mapping(builder, &mapping);
	}
	return location_add(builder, resolving->kernel_type, id, address - symbol->module_start,
			    (struct frame_words){ .name = symbol->name });
}

/* Is it memory that the process has filled with code itself? */
static bool is_compiled_memory(const struct process_mapping *in)
{
	return strcmp(in->path, "[vdso]") != 0 && strcmp(in->path, "[vsyscall]") != 0 &&
	       strcmp(in->path, "[uprobes]") != 0;
}

/* Names and paths come from programs, as text of files does. */
static struct profcol_line runtime_line(const struct resolving *resolving,
					const struct frame_line *line)
{
	struct profcol_builder *builder = resolving->builder;
	bool has_system_name = *line->system_name && resolving->parts->system_names;
	const struct profcol_function function = {
		.name = profcol_builder_cstring(builder, line->function),
		.filename = *line->file ? profcol_builder_cstring(builder, line->file) : 0,
		.system_name =
			has_system_name ? profcol_builder_cstring(builder, line->system_name) : 0,
		.start_line = line->start_line,
	};

	return (struct profcol_line){
		.function = profcol_builder_function(builder, &function),
		.line = line->line,
		.column = line->column,
	};
}

/* Code that a process has made for itself, and says nothing of, is told by the name of the program.
 * False: that is not known. */
static bool made_label(const struct resolving *resolving, const struct capture *capture,
		       uint32_t frame_id, char label[LABEL_BYTES])
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	struct process_description about;
	const char *program;

	if (!processes_describe(resolving->parts->processes,
				&capture->processes.items[frame->process].key, frame->first_ns,
				&about))
		return false;
	program = strrchr(about.executable, '/');
	program = program && program[1] ? program + 1 : about.comm;
	snprintf(label, LABEL_BYTES, "[JIT %.*s]", NAME_MAX, program);
	return true;
}

/* Code outside any file, which has no mapping to be named, and a name at most that the program has
 * given it. */
static uint32_t made_location(const struct resolving *resolving, const struct capture *capture,
			      uint32_t frame_id, struct located_frame *located)
{
	struct profcol_builder *builder = resolving->builder;
	uint64_t address = capture->frames.items[frame_id].address;
	CLEANUP_FREE struct frame_name *name = NULL;
	struct frame_words words = { 0 };
	struct frame_question question;
	char label[LABEL_BYTES];

	capture_question(capture, frame_id, &question);
	if (process_memory_find(resolving->parts->memory, &question, &name) == FRAME_NAMED) {
		struct profcol_line line = runtime_line(resolving, &name->lines[0]);
		const struct profcol_location location = {
			.attributes = resolving->native_type,
			.address = address,
			.lines = &line,
			.line_count = 1,
		};

		located->has_name = true;
		return profcol_builder_location(builder, &location);
	}
	if (located->mapping.limit && is_compiled_memory(&located->mapping) &&
	    made_label(resolving, capture, frame_id, label))
		words = location_unnamed_words(resolving, label);
	return location_add(builder, resolving->native_type, 0, address, words);
}

/* Is it the kernel's own code? It lies elsewhere in every process: what matters is the place in it.
 * 32-bit processes have another one. */
static bool is_vdso(const struct resolving *resolving, const struct process_mapping *mapping)
{
	struct symbol_file ids;

	return mapping->limit > UINT32_MAX && !strcmp(mapping->path, "[vdso]") &&
	       symbols_vdso(resolving->parts->symbols, &ids);
}

/* Why a frame of a runtime has no name, as its function. */
static const char *const unnamed[FRAME_STATES] = {
	[FRAME_WANTED] = "[name not read in time]",
	[FRAME_ASKED] = "[name not read in time]",
	[FRAME_GONE] = "[name gone before it was read]",
	[FRAME_UNREADABLE] = "[name in unreadable memory]",
	[FRAME_MALFORMED] = "[name in malformed memory]",
	[FRAME_ENDED] = "[name gone with the process]",
	[FRAME_SILENT] = "[name in memory that does not answer]",
	[FRAME_UNKNOWN] = "[name of a runtime not known any more]",
	[FRAME_CROWDED] = "[name not read for want of room]",
};

uint32_t location_runtime_type(struct resolving *resolving, uint32_t number)
{
	const struct runtime *runtime = runtime_find(number);

	if (!runtime || !runtime->frame_type)
		return resolving->native_type;
	if (!resolving->runtime_types[number])
		resolving->runtime_types[number] =
			location_frame_type(resolving->builder, runtime->frame_type);
	return resolving->runtime_types[number];
}

/* A frame of a language runtime's: it has no mapping, and the address of an object says nothing to
 * anybody. */
static uint32_t runtime_location(struct resolving *resolving, const struct capture *capture,
				 uint32_t frame_id, struct located_frame *located)
{
	struct profcol_builder *builder = resolving->builder;
	struct profcol_line lines[RUNTIME_LINES];
	CLEANUP_FREE struct frame_name *name = NULL;
	struct profcol_location location = { 0 };
	struct frame_question question;
	enum frame_state state;
	uint32_t type;

	capture_question(capture, frame_id, &question);
	type = location_runtime_type(resolving, question.runtime);
	state = process_memory_find(resolving->parts->memory, &question, &name);
	if (state != FRAME_NAMED)
		return location_add(builder, type, 0, 0,
				    (struct frame_words){ .name = unnamed[state] });
	for (size_t i = 0; i < name->line_count && i < RUNTIME_LINES; i++) {
		lines[location.line_count++] = runtime_line(resolving, &name->lines[i]);
		located->is_gap |= name->lines[i].is_gap;
	}
	location.lines = lines;
	location.attributes = type;
	return profcol_builder_location(builder, &location);
}

static struct located_frame find_frame(const struct capture *capture, uint32_t frame_id,
				       struct processes *processes)
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	struct located_frame located = { .file = PROCESS_NO_FILE };
	const struct process_key *key;
	struct process_description about;

	if (frame->process == CAPTURE_KERNEL || frame->process == CAPTURE_FILE ||
	    capture_is_of_runtime(frame))
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

/* Is @frame left out? @callee is the frame that it called; UINT32_MAX: none. */
static bool is_left_out(const struct locations *locations, uint32_t frame, uint32_t callee)
{
	if (!(locations->frames.items[frame].trace & RUNTIME_WRAPPER))
		return false;
	return callee == UINT32_MAX ||
	       !(locations->frames.items[callee].trace & RUNTIME_SHOWS_WRAPPERS);
}

uint32_t locations_shown(const struct locations *locations, const struct capture *capture,
			 uint32_t stack, uint32_t *frames_ret)
{
	uint32_t code_end = locations_code_end(locations, capture, stack);
	uint32_t count = 0, callee = UINT32_MAX;

	for (uint32_t at = capture_stack_begin(capture, stack); at < code_end; at++) {
		uint32_t frame = capture->stack_frames.items[at];

		if (!is_left_out(locations, frame, callee))
			frames_ret[count++] = frame;
		callee = frame;
	}
	// A wrapper alone is better than nothing.
	if (!count && callee != UINT32_MAX)
		frames_ret[count++] = callee;
	return count;
}

/* Note which of the frames that may be left out a stack shows: the others are no locations. */
static bool show_frames(struct locations *locations, const struct capture *capture)
{
	bool has_wrappers = false;

	for (size_t i = 0; i < locations->queries.count; i++) {
		uint32_t trace = locations->queries.items[i].trace;

		locations->frames.items[locations->query_frames.items[i]].trace = trace;
		has_wrappers |= trace & RUNTIME_WRAPPER;
	}
	if (!has_wrappers)
		return true;
	if (!VECTOR_RESERVE(&locations->shown, SAMPLE_MAX_WORDS))
		return false;
	for (uint32_t stack = 0; stack < capture->stacks.count; stack++) {
		uint32_t count = locations_shown(locations, capture, stack, locations->shown.items);

		for (uint32_t i = 0; i < count; i++)
			locations->frames.items[locations->shown.items[i]].is_shown = true;
	}
	return true;
}

static bool queue_query(struct locations *locations, uint32_t frame_id, uint32_t file,
			uint64_t file_offset)
{
	struct symbol_query query = { .file = file, .file_offset = file_offset };

	return VECTOR_PUSH(&locations->query_frames, frame_id) &&
	       VECTOR_PUSH(&locations->queries, query);
}

/* Queue a query for a frame in a file, look up one of the kernel, and note one that only its
 * program can name. */
static bool locate_frame(struct locations *locations, const struct capture *capture,
			 uint32_t frame_id, const struct resolving *resolving)
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	struct located_frame *located = &locations->frames.items[frame_id];
	const struct process_mapping *mapping = &located->mapping;
	struct kernel_symbol symbol;

	located->is_queried = true;
	if (frame->process == CAPTURE_FILE)
		return queue_query(locations, frame_id, frame->file, frame->address);
	if (mapping->limit && mapping->file != PROCESS_NO_FILE)
		return queue_query(locations, frame_id, mapping->file,
				   frame->address - mapping->start + mapping->file_offset);
	if (mapping->limit && is_vdso(resolving, mapping))
		return queue_query(locations, frame_id, SYMBOLS_VDSO,
				   frame->address - mapping->start);
	located->is_queried = false;
	located->is_told = frame->process != CAPTURE_KERNEL;
	if (located->is_told)
		return true;
	// At once: a BPF program may be gone after what is waited for.
	if (!symbols_kernel(resolving->parts->symbols, frame->address, &symbol))
		symbol = (struct kernel_symbol){ 0 };
	return VECTOR_PUSH(&locations->kernel, symbol);
}

static uint32_t told_location(struct resolving *resolving, const struct capture *capture,
			      uint32_t frame_id, struct located_frame *located)
{
	if (!capture_is_of_runtime(&capture->frames.items[frame_id]))
		return made_location(resolving, capture, frame_id, located);
	located->has_name = true; // or it says why there is none
	return runtime_location(resolving, capture, frame_id, located);
}

/* Have them asked for once more: what was not there at their first sample may be now. */
static void ask_again(const struct locations *locations, const struct capture *capture,
		      const struct location_parts *parts)
{
	for (uint32_t frame = 0; frame < capture->frames.count; frame++) {
		struct frame_question question;

		if (locations->frames.items[frame].is_told &&
		    capture_question(capture, frame, &question))
			process_memory_ask(parts->memory, &question);
	}
	for (size_t thread = 0; thread < capture->threads.count; thread++) {
		const struct capture_thread *row = &capture->threads.items[thread];
		struct frame_question question = capture_thread_question(capture, thread);

		process_memory_ask(parts->memory, &question);
		if (!row->is_first)
			continue;
		question = capture_program_question(capture, row->process, row->runtime);
		process_memory_ask(parts->memory, &question);
	}
}

/* By the answer to query number @number. */
static void name_frame(struct locations *locations, struct resolving *resolving, size_t number)
{
	const struct symbol_query *query = &locations->queries.items[number];
	uint32_t frame = locations->query_frames.items[number];
	struct located_frame *located = &locations->frames.items[frame];

	located->has_name = query->name;
	located->file = query->file;
	if (!(located->trace & RUNTIME_WRAPPER) || located->is_shown)
		locations->ids.items[frame] = location_of_file(resolving, query);
}

/* Makes the locations of all places, in their order, which queries and the kernel's names have,
 * too.
 */
static void name_frames(struct locations *locations, const struct capture *capture,
			struct resolving *resolving)
{
	const struct kernel_symbol *symbol = locations->kernel.items;
	size_t query = 0;

	for (size_t i = 0; i < locations->places.count; i++) {
		uint32_t frame = locations->places.items[i].frame;
		struct located_frame *located = &locations->frames.items[frame];
		uint32_t *id = &locations->ids.items[frame];

		if (located->is_queried) {
			name_frame(locations, resolving, query++);
		} else if (located->is_told) {
			*id = told_location(resolving, capture, frame, located);
		} else {
			located->has_name = symbol->name;
			*id = kernel_location(resolving, capture->frames.items[frame].address,
					      symbol++);
		}
		locations->gaps += located->is_gap;
	}
}

static bool reserve(struct locations *locations, const struct capture *capture)
{
	locations->ids.count = 0;
	locations->queries.count = locations->gaps = 0;
	locations->query_frames.count = locations->places.count = locations->kernel.count = 0;
	locations->frames.count = 0;
	if (!VECTOR_RESERVE(&locations->ids, capture->frames.count) ||
	    !VECTOR_RESERVE(&locations->frames, capture->frames.count) ||
	    !VECTOR_RESERVE(&locations->places, capture->frames.count) ||
	    !VECTOR_RESERVE(&locations->counts, capture->frames.count))
		return false;
	locations->ids.count = locations->frames.count = capture->frames.count;
	if (locations->ids.count)
		memset(locations->ids.items, 0,
		       locations->ids.count * sizeof(*locations->ids.items));
	return true;
}

bool locations_build(struct locations *locations, const struct capture *capture,
		     const struct location_parts *parts, uint64_t deadline_ns,
		     struct profcol_builder *builder)
{
	struct resolving resolving = {
		.builder = builder,
		.parts = parts,
		.kernel_type = location_frame_type(builder, "kernel"),
		.native_type = location_frame_type(builder, "native"),
		.file = PROCESS_NO_FILE,
	};

	if (!reserve(locations, capture))
		return false;
	for (uint32_t frame = 0; frame < capture->frames.count; frame++)
		locations->frames.items[frame] = find_frame(capture, frame, parts->processes);
	locations_order(locations, capture);
	for (size_t i = 0; i < locations->places.count; i++)
		if (!locate_frame(locations, capture, locations->places.items[i].frame, &resolving))
			return false;
	ask_again(locations, capture, parts);
	symbols_lookup(parts->symbols, locations->queries.items, locations->queries.count,
		       deadline_ns);
	if (!show_frames(locations, capture))
		return false;
	process_memory_settle(parts->memory, deadline_ns);
	// Whether it was the program's memory that was read has to be known.
	processes_catch_up(parts->processes, deadline_ns);
	name_frames(locations, capture, &resolving);
	return true;
}

static bool has_gap(const struct locations *locations, const struct capture *capture,
		    uint32_t stack)
{
	uint32_t limit = capture->stacks.items[stack].limit;

	for (uint32_t at = capture_stack_begin(capture, stack); at < limit; at++)
		if (locations->frames.items[capture->stack_frames.items[at]].is_gap)
			return true;
	return false;
}

int64_t locations_count_gaps(const struct locations *locations, const struct capture *capture)
{
	int64_t count = 0;

	if (!locations->gaps)
		return 0;
	for (size_t i = 0; i < capture->samples.count; i++)
		count += has_gap(locations, capture, capture->samples.items[i].stack);
	return count;
}
