// SPDX-License-Identifier: Apache-2.0
#include "hotspot.h"

#include "runtimes/hotspot.h"

#include <stdlib.h>
#include <string.h>

enum {
	FARTHEST = 4096, /* offset in a structure of the JVM */
	SHIFT_LEAST = 5, /* log2 of a segment's bytes: 64 and 128 in practice */
	JUMPS_MOST = 32, /* from a segment to the first one of its block */
};

static const uint64_t LONGEST_HEAP = 1ull << 32, ADDRESS_LIMIT = 1ull << 47;

/* What is read of one heap. */
enum { HEAP_LOW, HEAP_HIGH, HEAP_SEGMENTS, HEAP_SHIFT, HEAP_WORDS };

struct heap {
	uint64_t start, limit; /* address; what is reserved */
	struct hotspot_area code;
};

struct heaps {
	struct heap items[RUNTIME_AREAS]; /* by address, without overlap; there are one or three */
	size_t count;
};

/* At one JVM. */
struct look {
	const struct hotspot_layout *layout;
	const struct runtime_memory *memory;
	uint64_t words[HOTSPOT_WALK_WORDS]; /* of the layout */
};

static bool look_read(const struct look *look, const uint64_t *addresses, size_t count,
		      uint64_t *words)
{
	return runtime_read_words(look->memory, addresses, count, words);
}

static bool is_offset(size_t word)
{
	return word != HOTSPOT_HEAPS && word != HOTSPOT_INTERPRETER;
}

/* What the library has written for others to read; before that it is 0. */
static bool read_layout(struct look *look, uint64_t base)
{
	uint64_t addresses[HOTSPOT_WALK_WORDS];

	for (size_t i = 0; i < HOTSPOT_WALK_WORDS; i++)
		addresses[i] = base + look->layout->words[i];
	if (!look_read(look, addresses, HOTSPOT_WALK_WORDS, look->words))
		return false;
	for (size_t i = 0; i < HOTSPOT_WALK_WORDS; i++)
		if (is_offset(i) && look->words[i] > FARTHEST)
			return false;
	// Offsets of different members differ: they are there.
	return look->words[HOTSPOT_HEAPS] && look->words[HOTSPOT_SPACE_HIGH] &&
	       look->words[HOTSPOT_HEAP_SHIFT];
}

/* The addresses of the heaps; returns how many there are. */
static size_t list_heaps(const struct look *look, uint64_t *heaps)
{
	uint64_t array = look->words[HOTSPOT_HEAPS], words[2], addresses[RUNTIME_AREAS];
	size_t count;

	if (look->layout->heap_bytes) {
		heaps[0] = array;
		return 1;
	}
	addresses[0] = array + look->words[HOTSPOT_ARRAY_LENGTH];
	addresses[1] = array + look->words[HOTSPOT_ARRAY_ITEMS];
	if (!look_read(look, addresses, 2, words))
		return 0;
	count = (uint32_t)words[0];
	if (!count || count > RUNTIME_AREAS)
		return 0;
	for (size_t i = 0; i < count; i++)
		addresses[i] = words[1] + i * sizeof(uint64_t);
	return look_read(look, addresses, count, heaps) ? count : 0;
}

static void list_heap_words(const struct look *look, uint64_t heap, uint64_t addresses[HEAP_WORDS])
{
	uint64_t memory = heap + look->words[HOTSPOT_HEAP_MEMORY];

	addresses[HEAP_LOW] = memory + look->words[HOTSPOT_SPACE_LOW];
	addresses[HEAP_HIGH] = memory + look->words[HOTSPOT_SPACE_HIGH];
	addresses[HEAP_SEGMENTS] =
		heap + look->words[HOTSPOT_HEAP_SEGMENTS] + look->words[HOTSPOT_SPACE_LOW];
	addresses[HEAP_SHIFT] = heap + look->words[HOTSPOT_HEAP_SHIFT];
}

/* Of a member of a CodeBlob, from the beginning of its block on, in units of @bytes; 0 when it is
 * too far, or lies between them. */
static uint8_t offset_in_block(const struct look *look, enum hotspot_word word, uint64_t bytes)
{
	uint64_t offset = look->layout->block_bytes + look->words[word];

	return offset <= UINT8_MAX && !(offset % bytes) ? (uint8_t)(offset / bytes) : 0;
}

static bool make_heap(const struct look *look, const uint64_t words[HEAP_WORDS], struct heap *ret)
{
	uint64_t low = words[HEAP_LOW], high = words[HEAP_HIGH];
	uint32_t shift = (uint32_t)words[HEAP_SHIFT];

	if (!low || low % HOTSPOT_PAGE || high % HOTSPOT_PAGE || high <= low ||
	    high > ADDRESS_LIMIT || high - low > LONGEST_HEAP || shift < SHIFT_LEAST ||
	    shift > HOTSPOT_SHIFT_MOST || !words[HEAP_SEGMENTS] ||
	    words[HEAP_SEGMENTS] % HOTSPOT_PAGE || words[HEAP_SEGMENTS] >= ADDRESS_LIMIT)
		return false;
	*ret = (struct heap){
		.start = low,
		.limit = high,
		.code = {
			.segments = words[HEAP_SEGMENTS] / HOTSPOT_PAGE,
			.shift = shift & HOTSPOT_SHIFT_MOST,
			.frame_words = offset_in_block(look, HOTSPOT_BLOB_FRAME_WORDS, 4) & 63,
			.complete = offset_in_block(look, HOTSPOT_BLOB_COMPLETE, 2) & 127,
			.code = offset_in_block(look, HOTSPOT_BLOB_CODE, 4) & 63,
			.name = offset_in_block(look, HOTSPOT_BLOB_NAME, 8) & 31,
			.interpreter = HOTSPOT_NO_SEGMENT,
			.is_narrow = look->layout->complete_bytes == sizeof(uint16_t),
			.has_offsets = look->layout->code_bytes == sizeof(uint32_t),
			.is_small = look->layout->block_bytes == sizeof(uint64_t),
		},
	};
	return ret->code.frame_words && ret->code.complete && ret->code.code && ret->code.name;
}

static int compare_heaps(const void *left, const void *right)
{
	uint64_t a = ((const struct heap *)left)->start;
	uint64_t b = ((const struct heap *)right)->start;

	return a < b ? -1 : a > b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each is told how far the others go. */
static void set_edges(struct heaps *heaps)
{
	uint64_t start = heaps->items[0].start, limit = heaps->items[heaps->count - 1].limit;

	for (size_t i = 0; i < heaps->count; i++) {
		struct heap *heap = &heaps->items[i];
		uint64_t pages = (heap->start - start) / HOTSPOT_PAGE;
		uint64_t units = (limit - heap->start + HOTSPOT_UNIT - 1) / HOTSPOT_UNIT;

		heap->code.below = least(pages, HOTSPOT_PAGES) & HOTSPOT_PAGES;
		heap->code.above = least(units, HOTSPOT_UNITS) & HOTSPOT_UNITS;
	}
}

static bool make_heaps(const struct look *look, const uint64_t *heaps, size_t count,
		       struct heaps *ret)
{
	uint64_t addresses[RUNTIME_AREAS * HEAP_WORDS], words[RUNTIME_AREAS * HEAP_WORDS];

	for (size_t i = 0; i < count; i++)
		list_heap_words(look, heaps[i], &addresses[i * HEAP_WORDS]);
	if (!look_read(look, addresses, count * HEAP_WORDS, words))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!make_heap(look, &words[i * HEAP_WORDS], &ret->items[i]))
			return false;
	qsort(ret->items, count, sizeof(*ret->items), compare_heaps);
	for (size_t i = 1; i < count; i++)
		if (ret->items[i].start < ret->items[i - 1].limit)
			return false;
	ret->count = count;
	set_edges(ret);
	return true;
}

/* The entry of segment @number in the heap's map. */
static bool read_segment(const struct look *look, const struct heap *heap, uint64_t number,
			 uint8_t *ret)
{
	// Within an aligned word, which lies in one page.
	uint64_t address = (uint64_t)heap->code.segments * HOTSPOT_PAGE + number, word;
	uint64_t aligned = address & ~7ull;

	if (!look_read(look, &aligned, 1, &word))
		return false;
	*ret = (uint8_t)(word >> 8 * (address - aligned));
	return true;
}

/* Which block holds the interpreter, whose code begins at @address and has @bytes. */
static bool find_interpreter(const struct look *look, struct heap *heap, uint64_t address,
			     uint64_t bytes)
{
	const uint64_t most = (uint64_t)HOTSPOT_PARTS * HOTSPOT_PART;
	uint64_t number = (address - heap->start) >> heap->code.shift;
	uint8_t back = 1;

	for (int i = 0; i < JUMPS_MOST && back; i++) {
		if (!read_segment(look, heap, number, &back) || back == HOTSPOT_FREE ||
		    back > number)
			return false;
		number -= back;
	}
	if (back || number >= HOTSPOT_NO_SEGMENT)
		return false;
	heap->code.interpreter = (uint16_t)number;
	bytes += address - heap->start - (number << heap->code.shift);
	heap->code.interpreter_parts = least(bytes, most) / HOTSPOT_PART & HOTSPOT_PARTS;
	return true;
}

/* How many bytes of its code have been made so far; 0: it is not known yet. */
static uint32_t read_interpreter(const struct look *look, struct heaps *heaps)
{
	uint64_t stubs = look->words[HOTSPOT_INTERPRETER], words[2];
	uint32_t bytes;
	const uint64_t addresses[2] = {
		stubs + look->words[HOTSPOT_STUBS_START],
		stubs + look->words[HOTSPOT_STUBS_BYTES],
	};

	// It is made after the heaps.
	if (!stubs || !look_read(look, addresses, 2, words))
		return 0;
	bytes = (uint32_t)words[1];
	for (size_t i = 0; i < heaps->count; i++) {
		struct heap *heap = &heaps->items[i];

		if (words[0] >= heap->start && words[0] < heap->limit)
			return bytes <= heap->limit - words[0] &&
					       find_interpreter(look, heap, words[0], bytes)
				       ? bytes
				       : 0;
	}
	return 0;
}

static void tell(const struct heaps *heaps, struct runtime_found *ret)
{
	for (size_t i = 0; i < heaps->count; i++) {
		ret->areas[i].start = heaps->items[i].start;
		ret->areas[i].limit = heaps->items[i].limit;
		memcpy(ret->areas[i].area, &heaps->items[i].code, sizeof(ret->areas[i].area));
	}
	ret->area_count = heaps->count;
}

bool hotspot_heaps(const void *layout, uint64_t base, const struct runtime_memory *memory,
		   struct runtime_found *ret)
{
	struct look look = { .layout = layout, .memory = memory };
	uint64_t addresses[RUNTIME_AREAS];
	struct heaps heaps = { 0 };
	uint32_t interpreter_bytes;
	size_t count;

	*ret = (struct runtime_found){ 0 };
	if (!read_layout(&look, base))
		return false;
	count = list_heaps(&look, addresses);
	if (!count || !make_heaps(&look, addresses, count, &heaps))
		return false;
	interpreter_bytes = read_interpreter(&look, &heaps);
	tell(&heaps, ret);
	if (interpreter_bytes)
		hotspot_find_offsets(layout, base, memory, ret);
	// It is made after the heaps, piece by piece.
	ret->progress = 1ull + interpreter_bytes;
	ret->complete = interpreter_bytes > 0;
	return true;
}
