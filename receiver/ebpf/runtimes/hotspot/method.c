// SPDX-License-Identifier: Apache-2.0
#include "method.h"

#include "compressed.h"
#include "symbol.h"

enum {
	HAS_LINES = 1,       /* of the flags of a ConstMethod */
	ROWS_MOST = 1 << 16, /* of a table of lines: no method has more bytecode */
	ROW_BYTES = 11,      /* at most */
	ESCAPE = 0xff,       /* before a row whose numbers are long */
	SHORT_LINES = 3,     /* bits of the line's part in a short one */
};

/* A method's ConstMethod, and what it refers to; addresses. */
struct method {
	uint64_t at, pool, holder;
	uint64_t code; /* its bytecode, which its table of lines follows */
	uint16_t code_bytes, name, signature;
	uint8_t flags;
};

static bool read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return memory->read(memory->context, address, ret, sizeof(*ret));
}

static bool read_number(const struct runtime_memory *memory, uint64_t address, uint16_t *ret)
{
	return memory->read(memory->context, address, ret, sizeof(*ret));
}

static const struct hotspot_layout *layout_of(const struct runtime_process *process)
{
	return (const void *)process->layout;
}

static const struct hotspot_offsets *offsets_of(const struct runtime_process *process)
{
	return (const void *)process->data;
}

static bool read_method(const struct runtime_process *process, const struct runtime_memory *memory,
			uint64_t address, struct method *ret)
{
	const uint16_t *of = offsets_of(process)->of;

	if (!read_word(memory, address + of[HOTSPOT_METHOD_CONST], &ret->at) ||
	    !read_word(memory, ret->at + of[HOTSPOT_CONST_POOL], &ret->pool) ||
	    !read_word(memory, ret->pool + of[HOTSPOT_POOL_HOLDER], &ret->holder) ||
	    !memory->read(memory->context, ret->at + of[HOTSPOT_CONST_FLAGS], &ret->flags, 1))
		return false;
	ret->code = ret->at + layout_of(process)->const_bytes;
	return read_number(memory, ret->at + of[HOTSPOT_CONST_CODE_BYTES], &ret->code_bytes) &&
	       read_number(memory, ret->at + of[HOTSPOT_CONST_NAME], &ret->name) &&
	       read_number(memory, ret->at + of[HOTSPOT_CONST_SIGNATURE], &ret->signature);
}

/* ---- names ---- */

/* Entry @index of the pool, which is to be the address of a name. */
static enum runtime_outcome read_entry(const struct runtime_process *process,
				       const struct runtime_memory *memory, uint64_t pool,
				       uint32_t index, struct hotspot_text *ret)
{
	const struct hotspot_offsets *offsets = offsets_of(process);
	uint32_t length;
	uint64_t symbol;

	if (!memory->read(memory->context, pool + offsets->of[HOTSPOT_POOL_LENGTH], &length,
			  sizeof(length)))
		return RUNTIME_UNREADABLE;
	// Entry 0 is none.
	if (!index || index >= length)
		return RUNTIME_MALFORMED;
	if (!read_word(memory, pool + layout_of(process)->pool_bytes + 8ull * index, &symbol))
		return RUNTIME_UNREADABLE;
	return hotspot_read_symbol(offsets, memory, symbol, ret);
}

/* The file's name, if there is one. */
static void read_file(const struct runtime_process *process, const struct runtime_memory *memory,
		      const struct method *method, struct hotspot_text *ret)
{
	const uint16_t *of = offsets_of(process)->of;
	bool in_pool = layout_of(process)->words[HOTSPOT_POOL_SOURCE];
	uint64_t address = in_pool ? method->pool + of[HOTSPOT_POOL_SOURCE]
				   : method->holder + of[HOTSPOT_KLASS_SOURCE];
	uint16_t index;

	if (!read_number(memory, address, &index) ||
	    read_entry(process, memory, method->pool, index, ret) != RUNTIME_NAMED)
		ret->length = 0;
}

/* `java.lang.Thread.run` to *@name, `java/lang/Thread.run()V` to *@system_name. */
static enum runtime_outcome read_names(const struct runtime_process *process,
				       const struct runtime_memory *memory,
				       const struct method *method, struct hotspot_text *name,
				       struct hotspot_text *system_name)
{
	const struct hotspot_offsets *offsets = offsets_of(process);
	struct hotspot_text text;
	enum runtime_outcome outcome;
	uint64_t klass_name;

	if (!read_word(memory, method->holder + offsets->of[HOTSPOT_KLASS_NAME], &klass_name))
		return RUNTIME_UNREADABLE;
	outcome = hotspot_read_symbol(offsets, memory, klass_name, name);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	hotspot_mask_class(name);
	*system_name = *name;
	for (size_t i = 0; i < name->length; i++)
		if (name->bytes[i] == '/')
			name->bytes[i] = '.';
	outcome = read_entry(process, memory, method->pool, method->name, &text);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	hotspot_text_append(name, ".", 1);
	hotspot_text_append(name, text.bytes, text.length);
	hotspot_text_append(system_name, ".", 1);
	hotspot_text_append(system_name, text.bytes, text.length);
	outcome = read_entry(process, memory, method->pool, method->signature, &text);
	if (outcome == RUNTIME_NAMED)
		hotspot_text_append(system_name, text.bytes, text.length);
	return outcome;
}

/* ---- lines ---- */

/* The next row of a table of lines: how much bytecode and lines go on. False: there is none. */
static bool read_row(struct compressed *table, int32_t *bci, int32_t *line)
{
	uint8_t byte;

	if (!compressed_byte(table, &byte) || !byte)
		return false;
	if (byte == ESCAPE)
		return compressed_signed(table, bci) && compressed_signed(table, line);
	*bci = byte >> SHORT_LINES;
	*line = byte & ((1 << SHORT_LINES) - 1);
	return true;
}

/* The line of @bci, by the row that begins last at or before it, and the first one: 0 is unknown.
 */
static void read_lines(const struct runtime_process *process, const struct runtime_memory *memory,
		       const struct method *method, uint32_t bci, struct runtime_line *ret)
{
	uint64_t begin = method->code + method->code_bytes;
	struct compressed table =
		compressed_begin(memory, begin, begin + (uint64_t)ROWS_MOST * ROW_BYTES,
				 offsets_of(process)->version);
	int64_t row_bci = 0, row_line = 0, best = -1;
	int32_t more_bci, more_line;

	if (!(method->flags & HAS_LINES))
		return;
	for (int i = 0; i < ROWS_MOST && read_row(&table, &more_bci, &more_line); i++) {
		row_bci += more_bci;
		row_line += more_line;
		if (row_line <= 0 || row_line > UINT16_MAX || row_bci < 0 || row_bci > UINT16_MAX)
			return;
		if (!row_bci)
			ret->start_line = (uint32_t)row_line;
		if (bci != HOTSPOT_NO_BCI && row_bci <= bci && row_bci > best) {
			best = row_bci;
			ret->line = (uint32_t)row_line;
		}
	}
}

static enum runtime_outcome tell(const struct runtime_process *process,
				 const struct runtime_memory *memory, const struct method *method,
				 uint32_t bci, const struct runtime_lines *to)
{
	struct hotspot_text name, system_name, file;
	struct runtime_line line = { .function = name.bytes,
				     .system_name = system_name.bytes,
				     .file = file.bytes };
	enum runtime_outcome outcome = read_names(process, memory, method, &name, &system_name);

	if (outcome != RUNTIME_NAMED)
		return outcome;
	read_file(process, memory, method, &file);
	read_lines(process, memory, method, bci, &line);
	line.function_bytes = name.length;
	line.system_name_bytes = system_name.length;
	line.file_bytes = file.length;
	return to->add(to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

enum runtime_outcome hotspot_tell_method(const struct runtime_process *process,
					 const struct runtime_memory *memory, uint64_t method,
					 uint32_t bci, const struct runtime_lines *to)
{
	struct method found;

	return read_method(process, memory, method, &found) ? tell(process, memory, &found, bci, to)
							    : RUNTIME_UNREADABLE;
}

/* ---- interpreted frames ---- */

/* Reads what the object of @frame leads to. False: it is not what it was. That of a method which is
 * in use can always be read. */
static bool read_same(const struct runtime_process *process, const struct runtime_memory *memory,
		      const struct runtime_frame *frame, struct method *ret)
{
	const struct hotspot_data *told = &offsets_of(process)->told;
	uint64_t name, numbers, version;

	if (!read_method(process, memory, frame->object, ret) ||
	    !read_word(memory, ret->holder + told->klass_name, &name) ||
	    !read_word(memory, ret->at + told->const_identity, &numbers) ||
	    !read_word(memory, ret->pool + told->pool_version, &version))
		return false;
	return hotspot_mix_method(&(struct hotspot_identity){ .const_method = ret->at,
							      .pool = ret->pool,
							      .class_name = name,
							      .numbers = numbers,
							      .version = version }) == frame->check;
}

static uint32_t bci_of(const struct runtime_frame *frame, const struct method *method)
{
	uint32_t bci = frame->position - (uint32_t)method->code;

	if (frame->kind == HOTSPOT_ENTERS)
		return 0;
	return bci < method->code_bytes ? bci : HOTSPOT_NO_BCI;
}

enum runtime_outcome hotspot_resolve_method(const struct runtime_process *process,
					    const struct runtime_memory *memory,
					    const struct runtime_frame *frame,
					    const struct runtime_lines *to)
{
	enum runtime_outcome outcome;
	struct method method;
	uint64_t first;

	if (!read_word(memory, frame->object + offsets_of(process)->of[HOTSPOT_METHOD_CONST],
		       &first))
		return RUNTIME_UNREADABLE;
	if (!read_same(process, memory, frame, &method))
		return RUNTIME_GONE;
	outcome = tell(process, memory, &method, bci_of(frame, &method), to);
	// It may have become another one while it was read.
	memory->renew(memory->context);
	return read_same(process, memory, frame, &method) ? outcome : RUNTIME_GONE;
}
