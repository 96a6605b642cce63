// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

#include "runtimes/toy.h"

enum { TEXT_MOST = 1024, ROWS_MOST = 512 };

struct text {
	uint32_t bytes;
	char text[TEXT_MOST];
};

static bool read_at(const struct runtime_memory *memory, uint64_t address, void *to, size_t bytes)
{
	return memory->read(memory->context, address, to, bytes);
}

static enum runtime_outcome read_text(const struct runtime_memory *memory, uint64_t address,
				      struct text *ret)
{
	struct toy_text head;

	if (!read_at(memory, address, &head, sizeof(head)))
		return RUNTIME_UNREADABLE;
	if (head.bytes > TEXT_MOST)
		return RUNTIME_MALFORMED;
	ret->bytes = head.bytes;
	return read_at(memory, address + sizeof(head), ret->text, head.bytes) ? RUNTIME_NAMED
									      : RUNTIME_UNREADABLE;
}

/* The line of @position to *@ret; 0 when no row has it. */
static enum runtime_outcome read_line(const struct runtime_memory *memory,
				      const struct toy_code *code, uint32_t position, uint32_t *ret)
{
	struct toy_row rows[ROWS_MOST];

	*ret = 0;
	if (code->row_count > ROWS_MOST)
		return RUNTIME_MALFORMED;
	if (!read_at(memory, code->rows, rows, code->row_count * sizeof(*rows)))
		return RUNTIME_UNREADABLE;
	for (uint32_t i = 0; i < code->row_count && rows[i].position <= position; i++)
		*ret = rows[i].line;
	return RUNTIME_NAMED;
}

/* Is it @frame's code still? What was read of it was its own then. */
static bool is_still(const struct runtime_memory *memory, const struct runtime_frame *frame)
{
	uint32_t serial;

	memory->renew(memory->context);
	return read_at(memory, frame->object, &serial, sizeof(serial)) && serial == frame->check;
}

enum runtime_outcome toy_resolve(const struct runtime_process *process,
				 const struct runtime_memory *memory,
				 const struct runtime_frame *frame, const struct runtime_lines *to)
{
	struct text name, file;
	struct toy_code code;
	enum runtime_outcome outcome;
	uint32_t line = 0;

	(void)process;
	if (!read_at(memory, frame->object, &code, sizeof(code)))
		return RUNTIME_UNREADABLE;
	// Code that is being made has none; what had none when it ran cannot be told from others.
	if (!frame->check || code.serial != frame->check)
		return RUNTIME_GONE;
	outcome = read_text(memory, code.name, &name);
	if (outcome == RUNTIME_NAMED)
		outcome = read_text(memory, code.file, &file);
	if (outcome == RUNTIME_NAMED)
		outcome = read_line(memory, &code, frame->position, &line);
	// What does not add up may be because it has ended meanwhile.
	if (!is_still(memory, frame))
		return RUNTIME_GONE;
	if (outcome != RUNTIME_NAMED)
		return outcome;
	return to->add(to->context,
		       &(struct runtime_line){
			       .function = name.text,
			       .function_bytes = name.bytes,
			       .file = file.text,
			       .file_bytes = file.bytes,
			       .line = line,
			       .start_line = code.start_line,
		       })
		       ? RUNTIME_NAMED
		       : RUNTIME_MALFORMED;
}
