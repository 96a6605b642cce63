// SPDX-License-Identifier: Apache-2.0
#include "wasm_names.h"

#include "base/base.h"

#include <string.h>

enum {
	MODULE_MOST = 1 << 30, /* bytes: V8 takes no more */
	MAGIC_BYTES = 8,
	SECTIONS_MOST = 1024,  /* of a module, and parts of the section */
	NAMES_MOST = 16 << 20, /* bytes of the section that are looked at */
	NAMED_MOST = 1 << 20,  /* functions that are */
	STEP = 64,             /* functions from one mark to the next */
	NUMBER_BYTES = 5,      /* of a number of 32 bits, at most */
	CUSTOM = 0,            /* section that has a name, which is */
	PART_FUNCTIONS = 1,    /* of it: names of functions */
	HEAD_BYTES = 1 + NUMBER_BYTES,
	ENTRY_BYTES = 2 * NUMBER_BYTES, /* before a name, at most: which function, and its bytes */
};

/* The bytes of a module, or of a part of it, that have not been read yet. */
struct rest {
	uint64_t at, end; /* addresses */
};

/* Where names are found: every STEP functions of the module that was asked for last. */
static struct {
	uint64_t request, address, bytes; /* of that module */
	struct rest names;                /* from the first one on */
	uint32_t count;                   /* of marks */
	struct {
		uint32_t function, offset; /* from names.at on */
	} marks[NAMED_MOST / STEP];
} kept;

/* ---- bytes ---- */

/* A number of @bytes, of which there are @most. Returns how many it takes; 0: it is none. */
static size_t decode_number(const uint8_t *bytes, size_t most, uint32_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < most && i < NUMBER_BYTES; i++) {
		number |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (bytes[i] & 0x80)
			continue;
		*ret = (uint32_t)number;
		return number >> 32 ? 0 : i + 1;
	}
	return 0;
}

/* As much of what is left as fits into @to; returns how much. */
static size_t peek(const struct v8_heap *heap, const struct rest *rest, uint8_t *to, size_t most)
{
	size_t bytes = rest->end - rest->at < most ? rest->end - rest->at : most;

	return bytes && heap->memory->read(heap->memory->context, rest->at, to, bytes) ? bytes : 0;
}

/* The section, or part, that @rest begins with, which is left behind: its number, or -1. */
static int take_section(const struct v8_heap *heap, struct rest *rest, struct rest *ret)
{
	uint8_t head[HEAD_BYTES];
	size_t bytes = peek(heap, rest, head, sizeof(head)), taken;
	uint32_t length;

	if (!bytes)
		return -1;
	taken = decode_number(head + 1, bytes - 1, &length);
	if (!taken || length > rest->end - rest->at - 1 - taken)
		return -1;
	ret->at = rest->at + 1 + taken;
	ret->end = ret->at + length;
	rest->at = ret->end;
	return head[0];
}

/* ---- sections ---- */

/* Is a section with a name that of the names? It is left behind then. */
static bool take_title(const struct v8_heap *heap, struct rest *section)
{
	static const uint8_t title[] = { 4, 'n', 'a', 'm', 'e' };
	uint8_t found[sizeof(title)];

	if (peek(heap, section, found, sizeof(found)) < sizeof(found) ||
	    memcmp(found, title, sizeof(title)) != 0)
		return false;
	section->at += sizeof(title);
	return true;
}

static bool find_section(const struct v8_heap *heap, struct rest module, struct rest *ret)
{
	static const uint8_t magic[MAGIC_BYTES] = { 0, 'a', 's', 'm', 1 };
	uint8_t found[MAGIC_BYTES];

	if (peek(heap, &module, found, sizeof(found)) < sizeof(found) ||
	    memcmp(found, magic, sizeof(magic)) != 0)
		return false;
	module.at += MAGIC_BYTES;
	for (int i = 0; i < SECTIONS_MOST; i++) {
		int number = take_section(heap, &module, ret);

		if (number < 0)
			return false;
		if (number == CUSTOM && take_title(heap, ret))
			return true;
	}
	return false;
}

/* The names of functions in a module, behind how many there are. */
static bool find_names(const struct v8_heap *heap, struct rest module, struct rest *ret)
{
	uint8_t number[NUMBER_BYTES];
	struct rest section;
	uint32_t count;
	size_t taken;

	if (!find_section(heap, module, &section))
		return false;
	for (int i = 0; i < SECTIONS_MOST; i++) {
		int part = take_section(heap, &section, ret);

		if (part < 0)
			return false;
		if (part != PART_FUNCTIONS)
			continue;
		taken = decode_number(number, peek(heap, ret, number, sizeof(number)), &count);
		ret->at += taken;
		if (ret->end - ret->at > NAMES_MOST)
			ret->end = ret->at + NAMES_MOST;
		return taken;
	}
	return false;
}

/* ---- names ---- */

/* The name that @rest begins with, which is left behind: where it is, and of which function. */
static bool take_name(const struct v8_heap *heap, struct rest *rest, struct rest *name_ret,
		      uint32_t *function_ret)
{
	uint8_t entry[ENTRY_BYTES];
	size_t bytes = peek(heap, rest, entry, sizeof(entry)), taken, more;
	uint32_t length;

	taken = decode_number(entry, bytes, function_ret);
	more = taken ? decode_number(entry + taken, bytes - taken, &length) : 0;
	if (!more || length > rest->end - rest->at - taken - more)
		return false;
	name_ret->at = rest->at + taken + more;
	name_ret->end = name_ret->at + length;
	rest->at = name_ret->end;
	return true;
}

/* They stand by number; from one that does not on, they are not looked at. */
static void keep_marks(const struct v8_heap *heap)
{
	struct rest rest = kept.names, name;
	uint32_t function, last = 0;

	kept.count = 0;
	for (uint32_t i = 0; i < NAMED_MOST; i++) {
		uint32_t offset = (uint32_t)(rest.at - kept.names.at);

		if (!take_name(heap, &rest, &name, &function) || (i && function <= last)) {
			kept.names.end = kept.names.at + offset;
			return;
		}
		last = function;
		if (i % STEP)
			continue;
		kept.marks[kept.count].function = function;
		kept.marks[kept.count++].offset = offset;
	}
	kept.names.end = rest.at;
}

static void keep(const struct v8_heap *heap, uint64_t address, uint64_t bytes)
{
	struct rest module = { address, address + bytes };

	if (heap->memory->number && kept.request == heap->memory->number &&
	    kept.address == address && kept.bytes == bytes)
		return;
	kept.request = heap->memory->number;
	kept.address = address;
	kept.bytes = bytes;
	kept.count = 0;
	if (find_names(heap, module, &kept.names))
		keep_marks(heap);
}

/* The last mark that is not behind @function; there is one. */
static uint32_t find_mark(uint32_t function)
{
	uint32_t low = 0, high = kept.count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (kept.marks[middle].function <= function)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool append_name(const struct v8_heap *heap, const struct rest *name, struct v8_text *text)
{
	size_t bytes = peek(heap, name, (uint8_t *)text->bytes, sizeof(text->bytes));

	bytes = bytes < name->end - name->at
			? strings_cut_utf8(text->bytes, bytes, sizeof(text->bytes) - 1)
			: bytes;
	if (!bytes || !strings_is_utf8(text->bytes, bytes) || memchr(text->bytes, '\0', bytes))
		return false;
	text->length = bytes;
	return true;
}

bool v8_find_wasm_name(const struct v8_heap *heap, uint64_t address, uint64_t bytes,
		       uint32_t function, struct v8_text *text)
{
	struct rest rest, name;
	uint32_t found;

	if (!address || address >> 47 || bytes > MODULE_MOST)
		return false;
	keep(heap, address, bytes);
	if (!kept.count)
		return false;
	rest = kept.names;
	rest.at += kept.marks[find_mark(function)].offset;
	for (int i = 0; i < STEP; i++)
		if (!take_name(heap, &rest, &name, &found) || found > function)
			return false;
		else if (found == function)
			return append_name(heap, &name, text);
	return false;
}
