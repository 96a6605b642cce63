// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include "base/base.h"

#include <string.h>

enum {
	SOURCE_MOST = 16 << 20, /* characters of a source that are looked at */
	BLOCK = 4096,           /* of which is remembered how many lines there are before */
	BLOCKS = SOURCE_MOST / BLOCK,
	TOGETHER = 16, /* blocks that are read together */
	SOURCES = 8,   /* of which it is remembered how many lines they have */
	STEPS = 32,    /* 2^32 lines */
};

/* ---- files ---- */

static int digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* file:///a%20b is /a b. What would be no text is left as it is. */
static void make_path(struct v8_text *text)
{
	static const char scheme[] = "file://";
	size_t length = 0, skip = strlen(scheme);
	char path[V8_TEXT_BYTES];

	if (text->length <= skip || memcmp(text->bytes, scheme, skip) != 0 ||
	    text->bytes[skip] != '/')
		return;
	for (size_t i = skip; i < text->length; i++) {
		const char *at = text->bytes + i;
		int high = *at == '%' && i + 2 < text->length ? digit_of(at[1]) : -1;
		int low = high >= 0 ? digit_of(at[2]) : -1;

		path[length++] = *at;
		if (low < 0 || !(high << 4 | low))
			continue;
		path[length - 1] = (char)(high << 4 | low);
		i += 2;
	}
	if (!strings_is_utf8(path, length))
		return;
	memcpy(text->bytes, path, length);
	text->length = length;
}

enum runtime_outcome v8_name_script(const struct v8_heap *heap, uint64_t script,
				    struct v8_text *text)
{
	enum runtime_outcome outcome;
	uint64_t name;

	if (!v8_word(heap, script, heap->layout->offsets.script_name, &name))
		return RUNTIME_UNREADABLE;
	// What eval and the like have made has no name.
	if (!v8_is_text(heap, name))
		return RUNTIME_NAMED;
	outcome = v8_append_text(heap, name, text);
	make_path(text);
	return outcome;
}

/* ---- lines ---- */

/* How many lines end in each block of a source. */
struct source {
	uint64_t number; /* of the request it was read in; 0: none */
	uint64_t script, address, length;
	bool wide;
	uint32_t known;         /* blocks */
	uint32_t lines[BLOCKS]; /* up to the end of each */
	/* Behind the last end of a line up to there. */
	uint32_t line_start[BLOCKS];
};

static struct source sources[SOURCES]; // of the worker, which has one thread
static size_t next_source;

static bool ends_line(uint32_t character, uint32_t next)
{
	return character == '\n' || (character == '\r' && next != '\n') || character == 0x2028 ||
	       character == 0x2029;
}

/* Reads characters from @first on, and the one behind them. Returns how many. */
static size_t read_characters(const struct v8_heap *heap, const struct source *source,
			      uint64_t first, size_t most,
			      uint8_t bytes[2 * (TOGETHER * BLOCK + 1)])
{
	uint64_t left = source->length - first;
	size_t count = left < most ? left : most, read = left < most + 1 ? left : most + 1;

	memset(bytes + (count << source->wide), 0, 2);
	return heap->memory->read(heap->memory->context, source->address + (first << source->wide),
				  bytes, read << source->wide)
		       ? count
		       : 0;
}

/* Of characters of a byte, none of which is a carriage return. */
static void count_usual_lines(const uint8_t *bytes, size_t count, uint64_t first, uint32_t *lines,
			      uint32_t *line_start)
{
	const uint8_t *at = bytes, *end = bytes + count;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		++*lines;
		*line_start = (uint32_t)(first + (size_t)(at - bytes));
	}
}

/* The lines that end in @count characters, the first of which is number @first of the source. */
static void count_lines(const uint8_t *bytes, size_t count, bool wide, uint64_t first,
			uint32_t *lines, uint32_t *line_start)
{
	if (!wide && !memchr(bytes, '\r', count)) {
		count_usual_lines(bytes, count, first, lines, line_start);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t character = v8_character_at(bytes, i, wide);

		if (character > '\r' && character < 0x2028)
			continue;
		if (!ends_line(character, v8_character_at(bytes, i + 1, wide)))
			continue;
		++*lines;
		*line_start = (uint32_t)(first + i + 1);
	}
}

/* The blocks that follow those that are known, up to number @until, the last one not among them. */
static bool learn_blocks(const struct v8_heap *heap, struct source *source, uint32_t until,
			 uint8_t bytes[2 * (TOGETHER * BLOCK + 1)])
{
	uint32_t from = source->known, count = until - from < TOGETHER ? until - from : TOGETHER;
	uint32_t lines = from ? source->lines[from - 1] : 0;
	uint32_t line_start = from ? source->line_start[from - 1] : 0;

	if (read_characters(heap, source, (uint64_t)from * BLOCK, (size_t)count * BLOCK, bytes) !=
	    (size_t)count * BLOCK)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		count_lines(bytes + ((size_t)i * BLOCK << source->wide), BLOCK, source->wide,
			    (uint64_t)(from + i) * BLOCK, &lines, &line_start);
		source->lines[from + i] = lines;
		source->line_start[from + i] = line_start;
	}
	source->known += count;
	return true;
}

static struct source *find_source(const struct v8_heap *heap, uint64_t script,
				  const struct v8_characters *characters)
{
	struct source *source;

	for (size_t i = 0; i < SOURCES; i++) {
		source = &sources[i];
		if (source->number && source->number == heap->memory->number &&
		    source->script == script && source->address == characters->address &&
		    source->length == characters->length && source->wide == characters->wide)
			return source;
	}
	source = &sources[next_source++ % SOURCES];
	source->number = heap->memory->number;
	source->script = script;
	source->address = characters->address;
	source->length = characters->length;
	source->wide = characters->wide;
	source->known = 0;
	return source;
}

/* Line and column of @position, both from 0 on, by the source itself. */
static bool find_by_source(const struct v8_heap *heap, uint64_t script, uint32_t position,
			   uint32_t *line, uint32_t *column)
{
	static uint8_t bytes[2 * (TOGETHER * BLOCK + 1)]; // of the worker, which has one thread
	struct v8_characters characters;
	uint32_t block = position / BLOCK, start = 0;
	struct source *source;
	uint64_t text;

	if (!v8_word(heap, script, heap->layout->offsets.script_source, &text) ||
	    !v8_find_characters(heap, text, &characters) || position > characters.length ||
	    position >= SOURCE_MOST)
		return false;
	source = find_source(heap, script, &characters);
	while (source->known < block)
		if (!learn_blocks(heap, source, block, bytes))
			return false;
	*line = block ? source->lines[block - 1] : 0;
	start = block ? source->line_start[block - 1] : 0;
	if (position % BLOCK) {
		size_t count = read_characters(heap, source, (uint64_t)block * BLOCK,
					       position % BLOCK, bytes);

		if (count != position % BLOCK)
			return false;
		count_lines(bytes, count, source->wide, (uint64_t)block * BLOCK, line, &start);
	}
	*column = position - start;
	return true;
}

/* The same, by the table of where lines end, which V8 makes when it needs one. */
static bool find_by_table(const struct v8_heap *heap, uint64_t table, uint32_t position,
			  uint32_t *line, uint32_t *column)
{
	uint32_t low = 0, high = v8_length(heap, table);
	uint64_t word = 0;

	// The first line that ends at or behind it.
	for (int i = 0; i < STEPS && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		if (!v8_item(heap, table, middle, &word) || !v8_is_number(word))
			return false;
		if ((uint32_t)v8_number(word) < position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= v8_length(heap, table))
		return false;
	*line = low;
	*column = position;
	if (!low)
		return true;
	if (!v8_item(heap, table, low - 1, &word) || !v8_is_number(word) ||
	    (uint32_t)v8_number(word) >= position)
		return false;
	*column = position - (uint32_t)v8_number(word) - 1;
	return true;
}

static uint32_t read_shift(const struct v8_heap *heap, uint64_t script, uint64_t offset)
{
	uint64_t word;

	if (!offset || !v8_word(heap, script, offset, &word) || !v8_is_number(word) ||
	    v8_number(word) < 0)
		return 0;
	return (uint32_t)v8_number(word);
}

struct v8_place v8_find_place(const struct v8_heap *heap, uint64_t script, uint32_t position)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	uint32_t line, column;
	uint64_t table;

	if (!script)
		return (struct v8_place){ 0 };
	if ((!at->script_line_ends || !v8_word(heap, script, at->script_line_ends, &table) ||
	     !v8_length(heap, table) || !find_by_table(heap, table, position, &line, &column)) &&
	    !find_by_source(heap, script, position, &line, &column))
		return (struct v8_place){ 0 };
	// A script may be a piece of a larger text.
	if (!line)
		column += read_shift(heap, script, at->script_column);
	line += read_shift(heap, script, at->script_line);
	if (line >= INT32_MAX || column >= INT32_MAX)
		return (struct v8_place){ 0 };
	return (struct v8_place){ line + 1, column + 1 };
}
