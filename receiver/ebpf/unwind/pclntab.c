// SPDX-License-Identifier: Apache-2.0
#include "pclntab.h"

#include "go_frame.h"
#include "go_module.h"
#include "signal_frame.h"
#include "window.h"

#include "base/base.h"

#include <elf.h>
#include <string.h>

enum {
	FLAG_TOP_FRAME = 1 << 0,
	FLAG_STACK_POINTER = 1 << 1,
	POINTER_BYTES = 8,
};

/* What differs between the layouts. Offsets in a _func. */
struct layout {
	uint32_t magic;
	bool relative; /* entries are 32-bit distances from the text, else addresses */
	uint8_t name;
	uint8_t stack_deltas; /* pcsp */
	uint8_t flag;
	uint8_t function_bytes; /* without the arrays behind it */
};

static const struct layout layouts[] = {
	[PCLNTAB_116] = { 0xfffffffa, false, 8, 20, 41, 44 },
	[PCLNTAB_118] = { 0xfffffff0, true, 4, 16, 37, 40 },
	[PCLNTAB_120] = { 0xfffffff1, true, 4, 16, 41, 44 },
};

struct function {
	struct go_function go;
	uint32_t stack_deltas; /* offset in the deltas */
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

/* The parts that have what functions are called, and where they come from. */
static bool take_texts(struct pclntab *table, const struct elf_piece *piece, uint64_t names,
		       uint64_t units, uint64_t files)
{
	const uint8_t *name_bytes, *file_bytes;

	if (!take_part(piece, names, &name_bytes, &table->names_bytes) ||
	    !take_part(piece, units, &table->units, &table->units_bytes) ||
	    !take_part(piece, files, &file_bytes, &table->files_bytes))
		return false;
	table->names = (const char *)name_bytes;
	table->files = (const char *)file_bytes;
	return true;
}

static bool read_header(struct pclntab *table, const struct elf_piece *piece, uint64_t *text_ret)
{
	struct reader reader = reader_over(piece->bytes, piece->length);
	uint32_t magic = reader_u32(&reader);
	uint64_t names, units, files, deltas, functions;

	for (enum pclntab_version i = PCLNTAB_116; i <= PCLNTAB_120; i++)
		if (layouts[i].magic == magic)
			table->version = i;
	if (!table->version || reader_u16(&reader) != 0)
		return false;
	table->quantum = reader_u8(&reader);
	if (reader_u8(&reader) != POINTER_BYTES || !table->quantum)
		return false;
	table->function_count = reader_u64(&reader);
	reader_u64(&reader); // number of files
	*text_ret = table->version == PCLNTAB_116 ? 0 : reader_u64(&reader);
	names = reader_u64(&reader);
	units = reader_u64(&reader);
	files = reader_u64(&reader);
	deltas = reader_u64(&reader);
	functions = reader_u64(&reader);
	return !reader.failed && take_texts(table, piece, names, units, files) &&
	       take_part(piece, deltas, &table->deltas, &table->deltas_bytes) &&
	       take_part(piece, functions, &table->functions, &table->functions_bytes);
}

static size_t index_entry_bytes(const struct pclntab *table)
{
	return layouts[table->version].relative ? 8 : 16;
}

/* By what every table begins with, but for the first byte: in the rest of @piece. */
static bool find_magic(struct elf_piece *piece)
{
	static const uint8_t magic[] = { 0xff, 0xff, 0xff, 0, 0 };
	const uint8_t *end = piece->bytes + piece->length;
	const uint8_t *at = memmem(piece->bytes + 1, piece->length - 1, magic, sizeof(magic));

	if (!at)
		return false;
	piece->address += (uint64_t)(at - 1 - piece->bytes);
	piece->bytes = at - 1;
	piece->length = (size_t)(end - piece->bytes);
	return true;
}

/* The first table in @piece, with what follows it; without bytes when there is none. */
static struct elf_piece search_piece(struct elf_piece piece)
{
	while (piece.length > 1 && find_magic(&piece)) {
		struct pclntab table = { 0 };
		uint64_t text;

		if (piece.address % POINTER_BYTES == 0 && read_header(&table, &piece, &text) &&
		    table.function_count && table.function_count < piece.length)
			return piece;
		piece.bytes++;
		piece.length--;
		piece.address++;
	}
	return (struct elf_piece){ 0 };
}

/* In a file without section headers. */
static struct elf_piece search_table(const struct elf_view *view)
{
	struct elf_piece found = { 0 };

	for (size_t i = 0; i < view->segment_count && !found.bytes; i++)
		found = search_piece(elf_view_at(view, view->segments[i].address));
	return found;
}

/*
 * The section in a file of Go's linker, or of another one, position-independent: there it has a
 * name of its own since Go 1.26 only, and lies among other data before.
 */
static struct elf_piece find_table(const struct elf_view *view)
{
	struct elf_piece piece = elf_view_section(view, ".gopclntab");

	if (!piece.bytes)
		piece = elf_view_section(view, ".data.rel.ro.gopclntab");
	if (!piece.bytes && elf_view_section(view, ".go.buildinfo").bytes)
		piece = search_piece(elf_view_section(view, ".data.rel.ro"));
	return piece.bytes || view->has_sections ? piece : search_table(view);
}

void pclntab_init(struct pclntab *table, const struct elf_view *view)
{
	struct elf_piece piece = find_table(view);
	struct go_module module;
	uint64_t text = 0;

	*table = (struct pclntab){
		.view = view,
		.machine = unwind_machine_find(view->machine),
	};
	if (!table->machine || !piece.bytes || !read_header(table, &piece, &text) ||
	    // The index ends with an entry that has the end of the last function only.
	    table->function_count >= table->functions_bytes / index_entry_bytes(table)) {
		table->version = PCLNTAB_NONE;
		return;
	}
	if (!layouts[table->version].relative)
		return;
	module = go_module_find(view, piece.address, table->version == PCLNTAB_120);
	table->text = text ? text : module.text;
	table->function_data = module.function_data;
	if (!table->text)
		table->version = PCLNTAB_NONE;
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

const char *pclntab_name(const struct pclntab *table, uint32_t offset)
{
	struct reader reader;

	if (offset >= table->names_bytes)
		return NULL;
	reader = reader_over(table->names + offset, table->names_bytes - offset);
	return reader_cstring(&reader);
}

struct elf_piece pclntab_record(const struct pclntab *table, uint64_t position)
{
	uint64_t offset;

	entry_start(table, position, &offset);
	if (offset > table->functions_bytes ||
	    table->functions_bytes - offset < layouts[table->version].function_bytes)
		return (struct elf_piece){ 0 };
	return (struct elf_piece){
		.bytes = table->functions + offset,
		.length = table->functions_bytes - offset,
	};
}

static bool read_function(const struct pclntab *table, uint64_t position, struct function *ret)
{
	const struct layout *layout = &layouts[table->version];
	const uint8_t *bytes = pclntab_record(table, position).bytes;
	uint32_t name;

	*ret = (struct function){ .go.start = start_at(table, position) };
	ret->go.limit = start_at(table, position + 1);
	ret->go.framed = ret->go.limit;
	if (!bytes)
		return false;
	memcpy(&ret->stack_deltas, bytes + layout->stack_deltas, sizeof(ret->stack_deltas));
	memcpy(&name, bytes + layout->name, sizeof(name));
	ret->go.name = pclntab_name(table, name);
	ret->go.top_frame = bytes[layout->flag] & FLAG_TOP_FRAME;
	ret->go.writes_stack_pointer = bytes[layout->flag] & FLAG_STACK_POINTER;
	return ret->go.start < ret->go.limit;
}

/* The return address of a signal handler, the first byte of its function, is looked up one before.
 */
static uint64_t rules_begin(const struct function *function)
{
	return function->go.start - (go_frame_kind(&function->go) == GO_SIGNAL_RETURN);
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

bool pclntab_find(const struct pclntab *table, uint64_t address, uint64_t *position_ret)
{
	uint64_t position = table->version ? find_function(table, address) : 0;

	if (!table->version || !table->function_count || start_at(table, position) > address ||
	    start_at(table, position + 1) <= address)
		return false;
	*position_ret = position;
	return true;
}

/* ---- rules ---- */

/* @depth: bytes that the function has taken off the stack. */
static struct unwind_rule depth_rule(const struct pclntab *table, const struct go_frame *frame,
				     int32_t depth)
{
	bool arm64 = table->machine->elf_machine == EM_AARCH64;
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = table->machine->sp,
		// amd64: the return address lies above them, pushed by the call.
		.cfa_offset = arm64 ? depth : depth + POINTER_BYTES,
	};

	if (!arm64) {
		rule.ra = UNWIND_AT_CFA;
		rule.ra_offset = -POINTER_BYTES;
		rule.signal = frame->kind == GO_INTERRUPTS ? UNWIND_INTERRUPTS : UNWIND_CALLED;
	} else if (depth) {
		rule.ra = UNWIND_AT_CFA;
		rule.ra_offset = -depth;
	}
	// The frame pointer is saved right below the return address (amd64), or below the frame.
	if (depth && frame->saves_pointer) {
		rule.fp = UNWIND_AT_CFA;
		rule.fp_offset = arm64 ? -depth - POINTER_BYTES : -2 * POINTER_BYTES;
	}
	return rule;
}

static struct unwind_rule unsupported_rule(enum unwind_unsupported why)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .unsupported = (uint8_t)why };
}

/* After the function has left the stack on which it was called, or may have. */
static struct unwind_rule switched_rule(const struct pclntab *table, const struct go_frame *frame,
					int32_t depth)
{
	bool arm64 = table->machine->elf_machine == EM_AARCH64;

	if (frame->kind == GO_TOP_AFTERWARDS)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	// Without a frame of its own the pointer is the caller's, which will be missing; but on
	// arm64 it does not tell where the stack of that goes on.
	if (frame->pointer_lost || (depth && !frame->saves_pointer) || (arm64 && !depth))
		return unsupported_rule(UNWIND_OTHER_STACK);
	return go_frame_pointer_rule(table->machine, depth);
}

/* From where on the stack pointer does not lead to the caller any more. */
static uint64_t switched_from(const struct go_frame *frame, int32_t depth)
{
	switch (frame->kind) {
	case GO_TOP_AFTERWARDS:
		return frame->switched_from;
	case GO_SWITCHES:
		if (frame->pointer_lost || !frame->has_frame || (depth && !frame->saves_pointer))
			return frame->switched_from;
		return depth ? frame->points_from : UINT64_MAX;
	default:
		return UINT64_MAX;
	}
}

/* A row of the table: @depth from @start on. */
static void give_depth(const struct pclntab *table, const struct go_frame *frame, int32_t depth,
		       uint64_t start, struct unwind_window *window, uint64_t limit)
{
	uint64_t from = switched_from(frame, depth), started;
	struct unwind_rule rule;

	if (depth == -POINTER_BYTES && go_frame_popped(table->view, table->machine, start, &rule)) {
		unwind_window_give(window, limit, &rule);
		return;
	}
	if (depth < 0 || depth > INT32_MAX - 2 * POINTER_BYTES) {
		rule = unsupported_rule(UNWIND_RANGE);
		unwind_window_give(window, limit, &rule);
		return;
	}
	if (from > limit)
		from = limit;
	started = frame->started_from < from ? frame->started_from : from;
	rule = depth_rule(table, frame, depth);
	unwind_window_give(window, started, &rule);
	rule.new_thread = 1;
	unwind_window_give(window, from, &rule);
	rule = switched_rule(table, frame, depth);
	unwind_window_give(window, limit, &rule);
}

/* ---- the table of one function ---- */

/* Pairs of value and pc deltas, from the value -1 on; a value delta of 0 ends them. */
struct pclntab_steps pclntab_steps_begin(const struct pclntab *table, uint32_t offset,
					 uint64_t start, uint64_t limit)
{
	struct pclntab_steps steps = { .pc = start, .limit = limit, .value = UINT32_MAX };

	// At offset 0 there is no table: the function has none.
	if (offset && offset < table->deltas_bytes)
		steps.reader = reader_over(table->deltas + offset, table->deltas_bytes - offset);
	return steps;
}

static uint32_t read_varint(struct reader *reader)
{
	uint64_t value = reader_varint(reader);

	reader->failed |= value > UINT32_MAX;
	return (uint32_t)value;
}

bool pclntab_steps_next(struct pclntab_steps *steps, const struct pclntab *table)
{
	uint32_t delta = read_varint(&steps->reader), distance;

	if ((!delta && steps->begun) || steps->pc >= steps->limit)
		return false;
	steps->begun = true;
	steps->value += delta & 1 ? ~(delta >> 1) : delta >> 1;
	distance = read_varint(&steps->reader);
	// Each step goes on: there are no more of them than bytes of code.
	if (steps->reader.failed || !distance)
		return false;
	steps->pc += (uint64_t)distance * table->quantum;
	if (steps->pc > steps->limit)
		steps->pc = steps->limit;
	return true;
}

static struct pclntab_steps depths_begin(const struct pclntab *table,
					 const struct function *function)
{
	return pclntab_steps_begin(table, function->stack_deltas, function->go.start,
				   function->go.limit);
}

static uint64_t find_framed(const struct pclntab *table, const struct function *function,
			    struct effort *effort)
{
	struct pclntab_steps steps = depths_begin(table, function);
	uint64_t pc = steps.pc;

	for (; effort_spend(effort, 1) && pclntab_steps_next(&steps, table); pc = steps.pc)
		if (steps.value)
			return pc;
	return function->go.limit;
}

static void visit_function(const struct pclntab *table, struct function *function,
			   struct effort *effort, struct unwind_window *window)
{
	static const struct unwind_rule end = { .cfa = UNWIND_CFA_END };
	const struct unwind_rule signal = signal_frame_rule(table->machine);
	enum go_kind kind = go_frame_kind(&function->go);
	struct go_frame frame;
	struct pclntab_steps steps;
	uint64_t start;

	unwind_window_skip(window, rules_begin(function));
	if (kind == GO_TOP || kind == GO_SIGNAL_RETURN) {
		unwind_window_give(window, function->go.limit, kind == GO_TOP ? &end : &signal);
		return;
	}
	function->go.framed = find_framed(table, function, effort);
	frame = go_frame_read(table->view, table->machine, &function->go);
	// It switches, but we do not see where: it may have happened.
	if (kind == GO_TOP_AFTERWARDS && frame.switched_from == UINT64_MAX &&
	    function->go.writes_stack_pointer)
		frame.switched_from = function->go.start;
	steps = depths_begin(table, function);
	for (start = steps.pc; effort_spend(effort, 1) && pclntab_steps_next(&steps, table);
	     start = steps.pc)
		give_depth(table, &frame, (int32_t)steps.value, start, window, steps.pc);
	unwind_window_skip(window, function->go.limit);
}

void pclntab_visit(const struct pclntab *table, uint64_t start, uint64_t limit,
		   struct effort *effort, unwind_take_function take, void *context)
{
	struct unwind_window window = { start, limit, take, context };
	struct function function, next;

	for (uint64_t i = table->version ? find_function(table, start) : 0;
	     table->version && i < table->function_count && window.at < limit &&
	     effort_spend(effort, EFFORT_ENTRY);
	     i++) {
		bool usable = read_function(table, i, &function);

		// The index is sorted; what goes back is none.
		if (rules_begin(&function) >= limit || function.go.start > function.go.limit)
			break;
		if (usable && i + 1 < table->function_count && read_function(table, i + 1, &next))
			function.go.limit = rules_begin(&next);
		if (usable && function.go.limit > window.at)
			visit_function(table, &function, effort, &window);
	}
	unwind_window_skip(&window, limit);
}

uint64_t pclntab_start(const struct pclntab *table, uint64_t position)
{
	return start_at(table, position);
}

uint64_t pclntab_limit(const struct pclntab *table, uint64_t position)
{
	return start_at(table, position + 1);
}
