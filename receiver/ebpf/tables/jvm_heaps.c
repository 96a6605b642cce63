// SPDX-License-Identifier: Apache-2.0
#include "jvm_heaps.h"

#include <stdlib.h>

enum {
	FARTHEST = 4096, /* offset in a structure of the JVM */
	SHIFT_LEAST = 5, /* log2 of a segment's bytes: 64 and 128 in practice */
	SHIFT_MOST = 16,
	JUMPS_MOST = 32, /* from a segment to the first one of its block */
	PAGE_BYTES = 4096,
};

static const uint64_t LONGEST_HEAP = 1ull << 32, ADDRESS_LIMIT = 1ull << 47;

/* What is read of one heap. */
enum { HEAP_LOW, HEAP_HIGH, HEAP_SEGMENTS, HEAP_SHIFT, HEAP_WORDS };

_Static_assert(JVM_HEAPS *HEAP_WORDS <= JVM_WORDS_MOST, "all heaps are read at once");
_Static_assert((int)HOTSPOT_WORDS <= JVM_WORDS_MOST, "so are these");

/* At one JVM. */
struct look {
	const struct worker_hotspot *layout;
	jvm_read_function read;
	void *context;
	uint64_t words[HOTSPOT_WORDS]; /* of the layout */
};

static bool is_offset(size_t word)
{
	return word != HOTSPOT_HEAPS && word != HOTSPOT_INTERPRETER;
}

/* What the library has written for others to read; before that it is 0. */
static bool read_layout(struct look *look, uint64_t base)
{
	uint64_t addresses[HOTSPOT_WORDS];

	for (size_t i = 0; i < HOTSPOT_WORDS; i++)
		addresses[i] = base + look->layout->words[i];
	if (!look->read(look->context, addresses, HOTSPOT_WORDS, look->words))
		return false;
	for (size_t i = 0; i < HOTSPOT_WORDS; i++)
		if (is_offset(i) && look->words[i] > FARTHEST)
			return false;
	// Offsets of different members differ: they are there.
	return look->words[HOTSPOT_HEAPS] && look->words[HOTSPOT_SPACE_HIGH] &&
	       look->words[HOTSPOT_HEAP_SHIFT];
}

/* The addresses of the heaps; returns how many there are. */
static size_t list_heaps(const struct look *look, uint64_t *heaps)
{
	uint64_t array = look->words[HOTSPOT_HEAPS], words[2], addresses[JVM_HEAPS];
	size_t count;

	addresses[0] = array + look->words[HOTSPOT_ARRAY_LENGTH];
	addresses[1] = array + look->words[HOTSPOT_ARRAY_ITEMS];
	if (!look->read(look->context, addresses, 2, words))
		return 0;
	count = (uint32_t)words[0];
	if (!count || count > JVM_HEAPS)
		return 0;
	for (size_t i = 0; i < count; i++)
		addresses[i] = words[1] + i * sizeof(uint64_t);
	return look->read(look->context, addresses, count, heaps) ? count : 0;
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

/* Of a member of a CodeBlob, from the beginning of its block on; 0 when it is too far. */
static uint8_t offset_in_block(const struct look *look, enum worker_hotspot_word word)
{
	uint64_t offset = look->layout->block_bytes + look->words[word];

	return offset <= UINT8_MAX ? (uint8_t)offset : 0;
}

static bool make_heap(const struct look *look, const uint64_t words[HEAP_WORDS],
		      struct jvm_heap *ret)
{
	uint64_t low = words[HEAP_LOW], high = words[HEAP_HIGH];
	uint32_t shift = (uint32_t)words[HEAP_SHIFT];

	if (!low || low % PAGE_BYTES || high % PAGE_BYTES || high <= low || high > ADDRESS_LIMIT ||
	    high - low > LONGEST_HEAP || shift < SHIFT_LEAST || shift > SHIFT_MOST ||
	    !words[HEAP_SEGMENTS] || words[HEAP_SEGMENTS] % PAGE_BYTES ||
	    words[HEAP_SEGMENTS] >= ADDRESS_LIMIT)
		return false;
	*ret = (struct jvm_heap){
		.start = low,
		.limit = high,
		.code = {
			.segments = words[HEAP_SEGMENTS] / PAGE_BYTES,
			.shift = (uint8_t)shift,
			.frame_words = offset_in_block(look, HOTSPOT_BLOB_FRAME_WORDS),
			.complete = offset_in_block(look, HOTSPOT_BLOB_COMPLETE),
			.code = offset_in_block(look, HOTSPOT_BLOB_CODE),
			.name = offset_in_block(look, HOTSPOT_BLOB_NAME),
			.interpreter = UNWIND_HOTSPOT_NO_SEGMENT,
			.kind = UNWIND_RANGE_HOTSPOT,
		},
	};
	if (look->layout->complete_bytes == sizeof(uint16_t))
		ret->code.shift |= UNWIND_HOTSPOT_NARROW;
	if (look->layout->code_bytes == sizeof(uint32_t))
		ret->code.shift |= UNWIND_HOTSPOT_OFFSETS;
	if (look->layout->block_bytes == sizeof(uint64_t))
		ret->code.shift |= UNWIND_HOTSPOT_SMALL;
	return ret->code.frame_words && ret->code.complete && ret->code.code && ret->code.name;
}

static int compare_heaps(const void *left, const void *right)
{
	uint64_t a = ((const struct jvm_heap *)left)->start;
	uint64_t b = ((const struct jvm_heap *)right)->start;

	return a < b ? -1 : a > b;
}

static uint16_t units(uint64_t bytes)
{
	uint64_t count = (bytes + UNWIND_HOTSPOT_UNIT - 1) / UNWIND_HOTSPOT_UNIT;

	return count < UNWIND_HOTSPOT_UNITS ? (uint16_t)count : UNWIND_HOTSPOT_UNITS;
}

/* Each is told how far the others go. */
static void set_edges(struct jvm_heaps *heaps)
{
	uint64_t start = heaps->items[0].start, limit = heaps->items[heaps->count - 1].limit;

	for (size_t i = 0; i < heaps->count; i++) {
		heaps->items[i].code.below = units(heaps->items[i].start - start);
		heaps->items[i].code.above = units(limit - heaps->items[i].start);
	}
}

static bool make_heaps(const struct look *look, const uint64_t *heaps, size_t count,
		       struct jvm_heaps *ret)
{
	uint64_t addresses[JVM_HEAPS * HEAP_WORDS], words[JVM_HEAPS * HEAP_WORDS];

	for (size_t i = 0; i < count; i++)
		list_heap_words(look, heaps[i], &addresses[i * HEAP_WORDS]);
	if (!look->read(look->context, addresses, count * HEAP_WORDS, words))
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
static bool read_segment(const struct look *look, const struct jvm_heap *heap, uint64_t number,
			 uint8_t *ret)
{
	// Within an aligned word, which lies in one page.
	uint64_t address = (uint64_t)heap->code.segments * PAGE_BYTES + number, word;
	uint64_t aligned = address & ~7ull;

	if (!look->read(look->context, &aligned, 1, &word))
		return false;
	*ret = (uint8_t)(word >> 8 * (address - aligned));
	return true;
}

/* Which block holds the interpreter, whose code begins at @address and has @bytes. */
static bool find_interpreter(const struct look *look, struct jvm_heap *heap, uint64_t address,
			     uint64_t bytes)
{
	const uint64_t most = (uint64_t)UNWIND_HOTSPOT_PARTS * UNWIND_HOTSPOT_PART;
	uint64_t number = (address - heap->start) >> (heap->code.shift & UNWIND_HOTSPOT_SHIFT);
	uint8_t back = 1;

	for (int i = 0; i < JUMPS_MOST && back; i++) {
		if (!read_segment(look, heap, number, &back) || back == UNWIND_HOTSPOT_FREE ||
		    back > number)
			return false;
		number -= back;
	}
	if (back || number >= UNWIND_HOTSPOT_NO_SEGMENT)
		return false;
	heap->code.interpreter = (uint16_t)number;
	bytes += address - heap->start - (number << (heap->code.shift & UNWIND_HOTSPOT_SHIFT));
	heap->code.interpreter_parts = (bytes < most ? bytes : most) / UNWIND_HOTSPOT_PART;
	return true;
}

/* How much of it there is. */
static uint32_t read_interpreter(const struct look *look, struct jvm_heaps *heaps)
{
	uint64_t stubs = look->words[HOTSPOT_INTERPRETER], words[2];
	uint32_t bytes;
	const uint64_t addresses[2] = {
		stubs + look->words[HOTSPOT_STUBS_START],
		stubs + look->words[HOTSPOT_STUBS_BYTES],
	};

	// It is made after the heaps.
	if (!stubs || !look->read(look->context, addresses, 2, words))
		return 0;
	bytes = (uint32_t)words[1];
	for (size_t i = 0; i < heaps->count; i++) {
		struct jvm_heap *heap = &heaps->items[i];

		if (words[0] >= heap->start && words[0] < heap->limit)
			return bytes <= heap->limit - words[0] &&
					       find_interpreter(look, heap, words[0], bytes)
				       ? bytes
				       : 0;
	}
	return 0;
}

bool jvm_heaps_read(const struct worker_hotspot *layout, uint64_t base, jvm_read_function read,
		    void *context, struct jvm_heaps *ret)
{
	struct look look = { .layout = layout, .read = read, .context = context };
	uint64_t heaps[JVM_HEAPS];
	size_t count;

	*ret = (struct jvm_heaps){ 0 };
	if (!read_layout(&look, base))
		return false;
	count = list_heaps(&look, heaps);
	if (!count || !make_heaps(&look, heaps, count, ret))
		return false;
	ret->interpreter_bytes = read_interpreter(&look, ret);
	return true;
}

const struct jvm_heap *jvm_heaps_at(const struct jvm_heaps *heaps, uint64_t start, uint64_t *until)
{
	for (size_t i = 0; i < heaps->count; i++) {
		const struct jvm_heap *heap = &heaps->items[i];
		uint64_t edge = heap->start > start ? heap->start : heap->limit;

		if (heap->limit <= start)
			continue;
		if (edge < *until)
			*until = edge;
		return heap->start == start ? heap : NULL;
	}
	return NULL;
}

bool jvm_heaps_hold(const struct jvm_heaps *heaps, uint64_t address)
{
	for (size_t i = 0; i < heaps->count; i++)
		if (address >= heaps->items[i].start && address < heaps->items[i].limit)
			return true;
	return false;
}
