// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/lines.h"

#include "unwind/unwind.h"

#include <string.h>

enum {
	CALLS_VALUES = 2, /* PCDATA_InlTreeIndex: which call was inlined at a pc */
	CALLS_DATA = 3,   /* FUNCDATA_InlTree: these calls */
	MOST_STEPS =
		1 << 20, /* of tables for one address; of large functions it takes some 100,000 */
	NAME_BYTES = 4 << 10, /* of a name that has to be changed */
	NO_DATA = UINT32_MAX,
};

/* Offsets in a _func. */
struct record_layout {
	uint8_t files, lines; /* pcfile, pcln */
	uint8_t value_tables; /* npcdata */
	uint8_t unit;         /* cuOffset */
	uint8_t start_line;   /* 0: it is not said */
	uint8_t id;           /* funcID */
	uint8_t data_count;   /* nfuncdata */
	uint8_t bytes;        /* the value tables follow, then the data */
	uint8_t data_bytes;   /* of each: an address, or a distance from go_module.function_data */
	uint8_t wrapper_first, wrapper_last; /* ids that stand for wrappers */
};

/* Offsets in an inlinedCall. */
struct call_layout {
	uint8_t id, name, parent;
	uint8_t start_line; /* 0: it is not said */
	uint8_t bytes;
};

/*
 * Wrappers have the last id of all: 22 in 1.16 and 1.17, 21 up to 1.21, 22 up to 1.24, 23 since.
 * Where that differs within one layout, what had it before is known by name (is_wrapper).
 */
static const struct record_layout record_layouts[] = {
	[PCLNTAB_116] = { 24, 28, 32, 36, 0, 40, 43, 44, 8, 22, 22 },
	[PCLNTAB_118] = { 20, 24, 28, 32, 0, 36, 39, 40, 4, 21, 21 },
	[PCLNTAB_120] = { 20, 24, 28, 32, 36, 40, 43, 44, 4, 21, 23 },
};

static const struct call_layout call_layouts[] = {
	[PCLNTAB_116] = { 2, 12, 16, 0, 20 },
	[PCLNTAB_118] = { 2, 12, 16, 0, 20 },
	[PCLNTAB_120] = { 0, 4, 8, 12, 16 },
};

/* The function that holds the address. */
struct place {
	const struct pclntab *table;
	const struct record_layout *layout;
	uint64_t start, limit;
	struct elf_piece record;
	struct elf_piece calls; /* that were inlined; or without bytes */
	uint32_t calls_values;  /* the pc-value table that leads to them; 0: none */
	unsigned int steps_left;
};

/* A function that runs there. */
struct function {
	const char *name; /* NULL: it is broken */
	uint32_t start_line;
	bool is_wrapper;
	uint64_t pc; /* of the instruction whose line is meant */
};

static uint32_t number_at(const struct elf_piece *piece, size_t at)
{
	uint32_t number;

	memcpy(&number, piece->bytes + at, sizeof(number));
	return number;
}

/* ---- the function ---- */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_wrapper(const struct place *place, uint8_t id, const char *name)
{
	// Those that had an id of wrappers' when there were fewer, or more, of them.
	static const char *const others[] = { "runtime.systemstack", "runtime.systemstack_switch" };

	return id >= place->layout->wrapper_first && id <= place->layout->wrapper_last &&
	       !is_one_of(name, others, sizeof(others) / sizeof(others[0]));
}

/* Whatever calls these is shown, a wrapper or not: it was not the function behind it that ran. */
static bool shows_callers(const char *name)
{
	static const char *const names[] = { "runtime.gopanic", "runtime.sigpanic",
					     "runtime.panicwrap" };

	return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

/* Where datum @number is in memory; 0: there is none. */
static uint64_t data_address(const struct place *place, uint64_t tables, uint8_t number)
{
	const struct record_layout *layout = place->layout;
	uint64_t at = layout->bytes + 4 * tables, address;
	uint32_t distance;

	if (number >= place->record.bytes[layout->data_count])
		return 0;
	// Records and addresses are aligned to 8.
	if (layout->data_bytes == sizeof(address))
		at += at & 4;
	at += (uint64_t)number * layout->data_bytes;
	if (at + layout->data_bytes > place->record.length)
		return 0;
	if (layout->data_bytes == sizeof(address)) {
		memcpy(&address, place->record.bytes + at, sizeof(address));
		return address;
	}
	distance = number_at(&place->record, at);
	return distance == NO_DATA || !place->table->function_data
		       ? 0
		       : place->table->function_data + distance;
}

static void find_calls(struct place *place, const struct elf_view *view)
{
	uint64_t tables = number_at(&place->record, place->layout->value_tables);
	uint64_t values_at = place->layout->bytes + 4 * CALLS_VALUES, data;

	if (tables <= CALLS_VALUES || values_at + 4 > place->record.length)
		return;
	data = data_address(place, tables, CALLS_DATA);
	if (!data)
		return;
	place->calls = elf_view_at(view, data);
	if (place->calls.bytes)
		place->calls_values = number_at(&place->record, values_at);
}

static bool find_place(struct place *place, const struct runtime_file *file, uint64_t address)
{
	const struct pclntab *table = &file->source->go;
	uint64_t position;

	*place = (struct place){ .table = table, .steps_left = MOST_STEPS };
	if (!pclntab_find(table, address, &position))
		return false;
	place->layout = &record_layouts[table->version];
	place->start = pclntab_start(table, position);
	place->limit = pclntab_limit(table, position);
	place->record = pclntab_record(table, position);
	if (!place->record.bytes)
		return false;
	find_calls(place, file->view);
	return true;
}

/* ---- tables of it ---- */

/* What the pc-value table at @offset has for @pc; -1: nothing. */
static int32_t value_at(struct place *place, uint32_t offset, uint64_t pc)
{
	struct pclntab_steps steps =
		pclntab_steps_begin(place->table, offset, place->start, place->limit);

	while (place->steps_left && pclntab_steps_next(&steps, place->table)) {
		place->steps_left--;
		if (pc < steps.pc)
			return (int32_t)steps.value;
	}
	return -1;
}

/* The name of file @number of the function's compilation unit; NULL: there is none. */
static const char *file_name(const struct place *place, int32_t number)
{
	uint64_t at = number_at(&place->record, place->layout->unit) + (uint64_t)number;
	const struct pclntab *table = place->table;
	struct reader reader;
	uint32_t offset;

	if (number < 0 || at >= table->units_bytes / sizeof(offset))
		return NULL;
	memcpy(&offset, table->units + at * sizeof(offset), sizeof(offset));
	if (offset >= table->files_bytes)
		return NULL;
	reader = reader_over(table->files + offset, table->files_bytes - offset);
	return reader_cstring(&reader);
}

/* NULL: there is none, or an empty one. */
static const char *name_at(const struct place *place, uint32_t offset)
{
	const char *name = pclntab_name(place->table, offset);

	return name && name[0] ? name : NULL;
}

static struct function own_function(const struct place *place, uint64_t pc)
{
	const struct record_layout *layout = place->layout;
	// Behind the entry, which is an address in 1.16.
	uint32_t name = number_at(&place->record, place->table->version == PCLNTAB_116 ? 8 : 4);
	struct function function = { .name = name_at(place, name), .pc = pc };

	if (layout->start_line)
		function.start_line = number_at(&place->record, layout->start_line);
	if (function.name)
		function.is_wrapper =
			is_wrapper(place, place->record.bytes[layout->id], function.name);
	return function;
}

/* The function of call @index, inlined at *@pc, which becomes the place of that call. */
static struct function inlined_function(const struct place *place, int32_t index, uint64_t *pc)
{
	const struct call_layout *layout = &call_layouts[place->table->version];
	uint64_t at = (uint64_t)index * layout->bytes;
	struct function function = { .pc = *pc };

	if (at + layout->bytes > place->calls.length)
		return function;
	*pc = place->start + number_at(&place->calls, at + layout->parent);
	if (*pc >= place->limit)
		return function;
	function.name = name_at(place, number_at(&place->calls, at + layout->name));
	if (layout->start_line)
		function.start_line = number_at(&place->calls, at + layout->start_line);
	if (function.name)
		function.is_wrapper =
			is_wrapper(place, place->calls.bytes[at + layout->id], function.name);
	return function;
}

/* ---- lines ---- */

/* What lies between the first '[' and the last ']' of a generic function's name is not shown.
 * Until Go 1.20 the linker left it out. */
static size_t shown_name(const char *name, char room[NAME_BYTES], const char **ret)
{
	static const char dots[] = "[...";
	const char *open = strchr(name, '['), *close = strrchr(name, ']');
	size_t before = open ? (size_t)(open - name) : 0, after = close ? strlen(close) : 0;

	*ret = name;
	if (!open || !close || close <= open || before + sizeof(dots) + after > NAME_BYTES)
		return strlen(name);
	memcpy(room, name, before);
	memcpy(room + before, dots, sizeof(dots) - 1);
	memcpy(room + before + sizeof(dots) - 1, close, after);
	*ret = room;
	return before + sizeof(dots) - 1 + after;
}

static bool give(struct place *place, const struct function *function,
		 const struct runtime_lines *to)
{
	int32_t file =
		value_at(place, number_at(&place->record, place->layout->files), function->pc);
	int32_t number =
		value_at(place, number_at(&place->record, place->layout->lines), function->pc);
	const char *path = file_name(place, file);
	struct runtime_line line = { 0 };
	char room[NAME_BYTES];

	line.function_bytes = shown_name(function->name, room, &line.function);
	if (path) {
		line.file = path;
		line.file_bytes = strlen(path);
	}
	if (file >= 0 && number > 0)
		line.line = (uint32_t)number;
	if ((int32_t)function->start_line > 0)
		line.start_line = function->start_line;
	return to->add(to->context, &line);
}

/* Give the functions from the innermost on; wrappers only if there is nothing else. False: what
 * the table says makes no sense. */
static bool give_all(struct place *place, uint64_t pc, const struct runtime_lines *to,
		     uint32_t *trace_ret)
{
	int32_t before = INT32_MAX;
	bool given = false;

	for (size_t depth = 0; depth < RUNTIME_LINES; depth++) {
		int32_t index = value_at(place, place->calls_values, pc);
		struct function function =
			index < 0 ? own_function(place, pc) : inlined_function(place, index, &pc);

		// Calls stand behind those that they were inlined into: there are no circles.
		if (!function.name || index >= before)
			return false;
		before = index;
		if (function.is_wrapper && !given && index < 0)
			*trace_ret |= RUNTIME_WRAPPER;
		if (!function.is_wrapper || (!given && index < 0)) {
			if (!give(place, &function, to))
				return false;
			given = true;
		}
		if (index < 0) {
			if (shows_callers(function.name))
				*trace_ret |= RUNTIME_SHOWS_WRAPPERS;
			return true;
		}
	}
	return false;
}

bool go_lines(const struct runtime_file *file, uint64_t address, const struct runtime_lines *to,
	      uint32_t *trace_ret)
{
	struct place place;

	*trace_ret = 0;
	return find_place(&place, file, address) && give_all(&place, address, to, trace_ret);
}
