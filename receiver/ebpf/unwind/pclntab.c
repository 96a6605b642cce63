// SPDX-License-Identifier: Apache-2.0
#include "pclntab.h"

#include "go_text.h"

#include "base/base.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_STEPS = 1 << 20, /* of one function's table */
	FLAG_TOP_FRAME = 1,
	POINTER_BYTES = 8,
};

/* What differs between the layouts. Offsets in a _func. */
struct layout {
	uint32_t magic;
	bool relative;          /* entries are 32-bit distances from the text, else addresses */
	uint8_t stack_deltas;   /* pcsp */
	uint8_t flag;
	uint8_t function_bytes; /* without the arrays behind it */
};

static const struct layout layouts[] = {
	[PCLNTAB_116] = { 0xfffffffa, false, 20, 41, 44 },
	[PCLNTAB_118] = { 0xfffffff0, true, 16, 37, 40 },
	[PCLNTAB_120] = { 0xfffffff1, true, 16, 41, 44 },
};

struct function {
	uint64_t start, limit;
	uint32_t stack_deltas; /* offset in the deltas */
	bool top_frame;
};

/* ---- the header ---- */

static bool take_part(const struct elf_piece *piece, uint64_t offset, const uint8_t **bytes_ret,
		      size_t *length_ret)
{
	if (offset > piece->length)
		return false;
	*bytes_ret = piece->bytes + offset;
	*length_ret = piece->length - offset;
	return true;
}

static bool read_header(struct pclntab *table, const struct elf_piece *piece, uint64_t *text_ret)
{
	struct reader reader = reader_over(piece->bytes, piece->length);
	uint32_t magic = reader_u32(&reader);
	uint64_t deltas, functions;

	for (enum pclntab_version i = PCLNTAB_116; i <= PCLNTAB_120; i++)
		if (layouts[i].magic == magic)
			table->version = i;
	if (!table->version || reader_u16(&reader) != 0)
		return false;
	table->quantum = reader_u8(&reader);
	if (reader_u8(&reader) != POINTER_BYTES || !table->quantum)
		return false;
	table->function_count = reader_u64(&reader);
	reader_u64(&reader); // files
	*text_ret = table->version == PCLNTAB_116 ? 0 : reader_u64(&reader);
	reader_u64(&reader); // names
	reader_u64(&reader); // compilation units
	reader_u64(&reader); // files
	deltas = reader_u64(&reader);
	functions = reader_u64(&reader);
	return !reader.failed &&
	       take_part(piece, deltas, &table->deltas, &table->deltas_bytes) &&
	       take_part(piece, functions, &table->functions, &table->functions_bytes);
}

static size_t index_entry_bytes(const struct pclntab *table)
{
	return layouts[table->version].relative ? 8 : 16;
}

/* The section in a file of Go's linker, or of another one, position-independent. */
static struct elf_piece find_table(const struct elf_view *view)
{
	struct elf_piece piece = elf_view_section(view, ".gopclntab");

	return piece.bytes ? piece : elf_view_section(view, ".data.rel.ro.gopclntab");
}

void pclntab_init(struct pclntab *table, const struct elf_view *view)
{
	struct elf_piece piece = find_table(view);
	uint64_t text = 0;

	*table = (struct pclntab){ .machine = unwind_machine_find(view->machine) };
	if (!table->machine || !piece.bytes || !read_header(table, &piece, &text) ||
	    // The index ends with an entry that has the end of the last function only.
	    table->function_count >= table->functions_bytes / index_entry_bytes(table)) {
		table->version = PCLNTAB_NONE;
		return;
	}
	if (layouts[table->version].relative)
		table->text = text ? text : go_text_find(view, piece.address);
}

/* ---- functions ---- */

static uint64_t entry_start(const struct pclntab *table, uint64_t position, uint64_t *function_ret)
{
	const uint8_t *bytes = table->functions + position * index_entry_bytes(table);

	if (layouts[table->version].relative) {
		uint32_t numbers[2];

		memcpy(numbers, bytes, sizeof(numbers));
		*function_ret = numbers[1];
		return table->text + numbers[0];
	} else {
		uint64_t numbers[2];

		memcpy(numbers, bytes, sizeof(numbers));
		*function_ret = numbers[1];
		return numbers[0];
	}
}

static uint64_t start_at(const struct pclntab *table, uint64_t position)
{
	uint64_t ignored;

	// What the last one ends with has no function, and only half an entry in relative ones.
	if (position == table->function_count && layouts[table->version].relative) {
		uint32_t distance = 0;

		memcpy(&distance, table->functions + position * index_entry_bytes(table),
		       sizeof(distance));
		return table->text + distance;
	}
	return entry_start(table, position, &ignored);
}

static bool read_function(const struct pclntab *table, uint64_t position, struct function *ret)
{
	const struct layout *layout = &layouts[table->version];
	const uint8_t *bytes;
	uint64_t offset;

	ret->start = entry_start(table, position, &offset);
	ret->limit = start_at(table, position + 1);
	if (offset > table->functions_bytes ||
	    table->functions_bytes - offset < layout->function_bytes)
		return false;
	bytes = table->functions + offset;
	memcpy(&ret->stack_deltas, bytes + layout->stack_deltas, sizeof(ret->stack_deltas));
	ret->top_frame = bytes[layout->flag] & FLAG_TOP_FRAME;
	return ret->start < ret->limit;
}

/* The last function that begins at or before @address; 0 when none does. */
static uint64_t find_function(const struct pclntab *table, uint64_t address)
{
	uint64_t low = 0, high = table->function_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (start_at(table, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* ---- rules ---- */

/* @depth: bytes that the function has taken off the stack. */
static struct unwind_rule rule_of(const struct pclntab *table, const struct function *function,
				  int32_t depth)
{
	bool arm64 = table->machine->elf_machine == EM_AARCH64;
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = table->machine->sp,
		// amd64: the return address lies above them, pushed by the call.
		.cfa_offset = arm64 ? depth : depth + POINTER_BYTES,
	};

	if (function->top_frame)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	if (depth < 0 || depth > INT32_MAX - POINTER_BYTES)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED,
					     .unsupported = UNWIND_RANGE };
	if (!arm64) {
		rule.ra = UNWIND_AT_CFA;
		rule.ra_offset = -POINTER_BYTES;
	}
	if (!depth)
		return rule;
	// The frame pointer is saved right below the return address (amd64), or below the frame.
	rule.fp = UNWIND_AT_CFA;
	rule.fp_offset = arm64 ? -depth - POINTER_BYTES : -2 * POINTER_BYTES;
	if (arm64) {
		rule.ra = UNWIND_AT_CFA;
		rule.ra_offset = -depth;
	}
	return rule;
}

struct window {
	uint64_t at, limit; /* given so far, and up to where it is wanted */
	unwind_take_function take;
	void *context;
};

static void give(struct window *window, uint64_t limit, const struct unwind_rule *rule)
{
	if (limit > window->limit)
		limit = window->limit;
	if (limit <= window->at)
		return;
	window->take(window->context, window->at, limit, rule);
	window->at = limit;
}

static uint32_t read_varint(struct reader *reader)
{
	uint64_t value = reader_varint(reader);

	reader->failed |= value > UINT32_MAX;
	return (uint32_t)value;
}

/* Pairs of value and pc deltas, from the value -1 on; a value delta of 0 ends them. */
static void visit_function(const struct pclntab *table, const struct function *function,
			   struct window *window)
{
	static const struct unwind_rule unknown = { .cfa = UNWIND_CFA_UNKNOWN };
	uint64_t pc = function->start;
	uint32_t value = UINT32_MAX;
	struct reader reader;

	give(window, function->start, &unknown);
	// At offset 0 there is no table: the function has none.
	if (!function->stack_deltas || function->stack_deltas >= table->deltas_bytes)
		return;
	reader = reader_over(table->deltas + function->stack_deltas,
			     table->deltas_bytes - function->stack_deltas);
	for (unsigned int i = 0; i < MAX_STEPS && pc < function->limit; i++) {
		uint32_t delta = read_varint(&reader), distance;
		struct unwind_rule rule;

		if (!delta && i)
			break;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		distance = read_varint(&reader);
		if (reader.failed)
			break;
		pc += (uint64_t)distance * table->quantum;
		rule = rule_of(table, function, (int32_t)value);
		give(window, pc < function->limit ? pc : function->limit, &rule);
	}
	give(window, function->limit, &unknown);
}

void pclntab_visit(const struct pclntab *table, uint64_t start, uint64_t limit,
		   unwind_take_function take, void *context)
{
	static const struct unwind_rule unknown = { .cfa = UNWIND_CFA_UNKNOWN };
	struct window window = { start, limit, take, context };
	struct function function;

	for (uint64_t i = table->version ? find_function(table, start) : 0;
	     table->version && i < table->function_count && window.at < limit; i++) {
		if (start_at(table, i) >= limit)
			break;
		if (read_function(table, i, &function) && function.limit > window.at)
			visit_function(table, &function, &window);
	}
	give(&window, limit, &unknown);
}
