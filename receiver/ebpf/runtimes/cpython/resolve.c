// SPDX-License-Identifier: Apache-2.0
/* What a frame of CPython's is called, and which line of it runs. */
#include "cpython.h"

#include "tasks.h"
#include "text.h"

#include <string.h>

enum {
	LINES_MOST =
		1
		<< 18, /* bytes of a table; that of the largest module of the library has 40,000 */
};

static bool read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return memory->read(memory->context, address, ret, sizeof(*ret));
}

/* The word by which the object at @code is told from others. */
static bool read_check(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
		       uint64_t code, uint32_t *ret)
{
	uint64_t words[CPYTHON_CHECK_WORDS], mixed = 0;

	if (!memory->read(memory->context, code + offsets->code_check, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < offsets->code_check_words; i++)
		mixed = cpython_mix(mixed, words[i]);
	*ret = (uint32_t)mixed;
	return true;
}

struct code {
	uint64_t name, filename, lines; /* addresses of objects */
	uint32_t first_line;
};

static bool read_code(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
		      uint64_t address, struct code *ret)
{
	return read_word(memory, address + offsets->code_qualname, &ret->name) &&
	       read_word(memory, address + offsets->code_filename, &ret->filename) &&
	       read_word(memory, address + offsets->code_linetable, &ret->lines) &&
	       memory->read(memory->context, address + offsets->code_firstlineno, &ret->first_line,
			    sizeof(ret->first_line));
}

/* 0: not known. */
static uint32_t read_line(const struct cpython_layout *layout, const struct runtime_memory *memory,
			  const struct code *code, uint32_t position)
{
	static uint8_t table[LINES_MOST]; // of the worker, which has one thread
	const struct cpython_offsets *offsets = &layout->offsets;
	uint64_t bytes;

	if (!cpython_is_of_type(offsets, memory, code->lines, "bytes") ||
	    !read_word(memory, code->lines + offsets->bytes_length, &bytes) ||
	    bytes > sizeof(table) ||
	    !memory->read(memory->context, code->lines + offsets->bytes_data, table, bytes))
		return 0;
	return cpython_line(cpython_minor(layout), table, bytes, code->first_line, position);
}

static enum runtime_outcome resolve_code(const struct cpython_layout *layout,
					 const struct runtime_memory *memory,
					 const struct runtime_frame *frame,
					 const struct runtime_lines *to)
{
	struct cpython_text name, filename;
	struct runtime_line line = { 0 };
	enum runtime_outcome outcome;
	struct code code;
	uint32_t check;

	if (!read_check(&layout->offsets, memory, frame->object, &check))
		return RUNTIME_UNREADABLE;
	if (check != frame->check ||
	    !cpython_is_alive(&layout->offsets, memory, frame->object, "code"))
		return RUNTIME_GONE;
	if (!read_code(&layout->offsets, memory, frame->object, &code))
		return RUNTIME_UNREADABLE;
	outcome = cpython_read_text(&layout->offsets, memory, code.name, &name);
	if (outcome == RUNTIME_NAMED)
		outcome = cpython_read_text(&layout->offsets, memory, code.filename, &filename);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	if (!name.length || code.first_line > INT32_MAX)
		return RUNTIME_MALFORMED;
	line.line = read_line(layout, memory, &code, frame->position);
	// It may have become another one while it was read.
	memory->renew(memory->context);
	if (!cpython_is_alive(&layout->offsets, memory, frame->object, "code") ||
	    !read_check(&layout->offsets, memory, frame->object, &check) || check != frame->check)
		return RUNTIME_GONE;
	line.function = name.bytes;
	line.function_bytes = name.length;
	line.file = filename.bytes;
	line.file_bytes = filename.length;
	line.start_line = code.first_line;
	return to->add(to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

enum runtime_outcome cpython_resolve(const struct runtime_process *process,
				     const struct runtime_memory *memory,
				     const struct runtime_frame *frame,
				     const struct runtime_lines *to)
{
	const struct cpython_layout *layout = (const void *)process->layout;

	switch (frame->kind) {
	case CPYTHON_CODE:
		return resolve_code(layout, memory, frame, to);
	case CPYTHON_TASK:
		return cpython_resolve_task(layout, memory, frame, to);
	case CPYTHON_REMARK:
		return cpython_resolve_remark(frame, to);
	default:
		return RUNTIME_MALFORMED;
	}
}
