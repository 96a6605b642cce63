// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a JVM with methods and code in it, changed by what comes in before and while it is
 * read. Whatever it is: what is found can be told to the kernel side, lines are UTF-8 without NUL,
 * and what is read has a bound.
 *
 * The input: which form, what kind of frame, how far in its object, which one; then changes of 12
 * bytes each: where, before which read, and the word that is written.
 */
#include "forged_changes.h"

#include "tests/unit/ebpf/runtimes/hotspot_forged.h"

#include "receiver/ebpf/runtimes/hotspot/symbol.h"

#include <stdlib.h>
#include <string.h>

enum { READS_COUNTED = 256, READS_MOST = 1 << 20, WORDS_AT = 0x100 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct forged forged;

static void change(struct forged *memory, size_t number)
{
	forged_changes_make(memory->bytes, memory->used, number, READS_COUNTED);
}

static void check_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			abort();
}

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	if (line->function_bytes > HOTSPOT_TEXT_BYTES || line->file_bytes > HOTSPOT_TEXT_BYTES ||
	    line->system_name_bytes > HOTSPOT_TEXT_BYTES || line->line > UINT16_MAX ||
	    line->start_line > UINT16_MAX)
		abort();
	check_text(line->function, line->function_bytes);
	check_text(line->file, line->file_bytes);
	check_text(line->system_name, line->system_name_bytes);
	return true;
}

/* Its words are those of the memory, from the beginning on. */
static void look(void)
{
	const struct runtime_memory memory = forged_memory(&forged);
	struct hotspot_layout layout = *(const struct hotspot_layout *)forged.process.layout;
	struct runtime_found found;

	for (size_t i = 0; i < HOTSPOT_WORDS; i++)
		layout.words[i] = WORDS_AT + 8 * i;
	forged.reads = 0;
	if (hotspot_heaps(&layout, forged.start, &memory, &found) && !runtime_found_check(&found))
		abort();
	if (forged.reads > 1024)
		abort();
}

/* Its variables are words of the memory, too. */
static void describe(void)
{
	const struct runtime_memory memory = forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };
	struct hotspot_layout *layout = (void *)forged.process.layout;

	forged.process.base = forged.start;
	for (size_t i = 0; i < HOTSPOT_OBJECTS; i++)
		layout->objects[i] = (uint32_t)(WORDS_AT + 8 * i);
	forged.reads = 0;
	hotspot_describe(&forged.process, &memory, &lines);
	if (forged.reads > READS_MOST)
		abort();
}

static void name(struct runtime_frame frame)
{
	const struct runtime_memory memory = forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };

	forged.reads = 0;
	hotspot_resolve(&forged.process, &memory, &frame, &lines);
	if (forged.reads > READS_MOST)
		abort();
}

static uint64_t make_block(uint64_t methods[2])
{
	static const struct forged_row rows[] = { { 0, 70 }, { 3, 71 }, { 40, 300 } };
	static const struct forged_scope scopes[] = { { 0, 2, 40 }, { 1, 1, 3 }, { 2, 1, 0 } };
	static const struct forged_place places[] = { { 40, 1 }, { 60, 2 }, { 61, 3 } };
	struct forged_class of = forged_class(&forged, "org/shop/Shop$$Lambda$1+0xab", "Shop.java");

	methods[0] = forged_method(&forged, &of, "open", "(I)V", 50, rows, 3);
	methods[1] = forged_method(&forged, &of, "shut", "(I)V", 50, rows, 3);
	return forged_block(&forged, &(struct forged_code){ .method = methods[1],
							    .id = 7,
							    .metadata = methods,
							    .metadata_count = 2,
							    .scopes = scopes,
							    .scope_count = 3,
							    .places = places,
							    .place_count = 3 });
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint16_t versions[] = { 8, 17, 21, 23, 25 };
	enum hotspot_form form;
	uint64_t methods[2], block;
	struct runtime_frame frame;
	uint32_t offset;

	if (size < 8)
		return 0;
	form = HOTSPOT_UNNAMED + bytes[0] % HOTSPOT_FORMS;
	memcpy(&offset, bytes + 4, sizeof(offset));
	forged_changes_take(bytes + 8, size - 8);

	forged_init(&forged, form, versions[bytes[1] % 5]);
	forged_room(&forged, 1024);
	block = make_block(methods);
	frame = bytes[2] & 2 ? forged_interpreted(&forged, methods[bytes[3] & 1], offset)
			     : forged_called(&forged, block, offset);
	frame.kind = bytes[2] % (HOTSPOT_KINDS + 1);
	change(&forged, 0);
	forged.before = change;
	name(frame);
	look();
	describe();
	return 0;
}
