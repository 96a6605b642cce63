// SPDX-License-Identifier: Apache-2.0
/* A JVM's heaps are found by what lies in its memory, and nothing in there is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receiver/ebpf/runtimes/hotspot/hotspot.h"

#include "runtimes/hotspot.h"

#include <stdlib.h>
#include <string.h>

/* As a JVM might lay it out; the numbers tell a member from its neighbours. */
struct virtual_space {
	uint64_t unused;
	uint64_t low, high;
};

struct code_heap {
	uint64_t unused[2];
	struct virtual_space memory, segments;
	uint32_t unused_too;
	int32_t shift;
	uint64_t end; /* a word is read from `shift` on */
};

struct stub_queue {
	uint64_t unused;
	uint64_t start;
	uint32_t unused_too;
	int32_t bytes;
	uint64_t end;
};

enum { HEAPS = 3, PAGE_BYTES = 4096, SEGMENTS = PAGE_BYTES, HEAP_BYTES = SEGMENTS * 128 };

enum { INTERPRETER_BYTES = 1000 };

struct jvm_memory {
	uint64_t words[HOTSPOT_WALK_WORDS];
	struct {
		int32_t length, room;
		uint64_t items;
	} array;
	uint64_t pointers[RUNTIME_AREAS + 1];
	struct code_heap heaps[HEAPS];
	struct stub_queue stubs;
	_Alignas(PAGE_BYTES) uint8_t segments[HEAPS][SEGMENTS];
};

static const uint64_t starts[HEAPS] = { 0x7f0000800000, 0x7f0000401000, 0x7f0000880000 };

struct fixture {
	struct jvm_memory memory;
	struct hotspot_layout layout;
	struct runtime_found heaps;
	size_t reads, most_reads; /* those beyond fail */
};

static bool read_own(void *context, uint64_t address, void *to, size_t bytes)
{
	struct fixture *fixture = context;
	const uint64_t start = (uintptr_t)&fixture->memory, size = sizeof(fixture->memory);

	if (fixture->reads++ >= fixture->most_reads)
		return false;
	if (address < start || bytes > size || address - start > size - bytes)
		return false;
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return true;
}

static bool look(struct fixture *fixture)
{
	const struct runtime_memory memory = { .read = read_own, .context = fixture };

	fixture->reads = 0;
	return hotspot_heaps(&fixture->layout, (uintptr_t)&fixture->memory - 0x1000, &memory,
			     &fixture->heaps);
}

/* What the kernel side is told of one of them. */
static const struct hotspot_area *code_of(const struct runtime_area *heap)
{
	return (const struct hotspot_area *)heap->area;
}

/* How much of the interpreter was found to be made. */
static uint64_t interpreter_bytes(const struct fixture *fixture)
{
	assert_int_equal(fixture->heaps.complete, fixture->heaps.progress > 1);
	return fixture->heaps.progress - 1;
}

/* Block from segment @first of heap @heap on, @count long, as HotSpot marks it. */
static void mark_block(struct fixture *fixture, size_t heap, size_t first, size_t count)
{
	uint8_t back = 0;

	for (size_t i = first; i < first + count; i++) {
		fixture->memory.segments[heap][i] = back++;
		if (back == HOTSPOT_FREE)
			back = 1;
	}
}

static void fill_heaps(struct fixture *fixture)
{
	struct jvm_memory *memory = &fixture->memory;

	memory->array.length = HEAPS;
	memory->array.room = 4;
	memory->array.items = (uintptr_t)memory->pointers;
	memset(memory->segments, HOTSPOT_FREE, sizeof(memory->segments));
	for (size_t i = 0; i < HEAPS; i++) {
		memory->pointers[i] = (uintptr_t)&memory->heaps[i];
		memory->heaps[i].memory.low = starts[i];
		memory->heaps[i].memory.high = starts[i] + HEAP_BYTES;
		memory->heaps[i].segments.low = (uintptr_t)memory->segments[i];
		memory->heaps[i].shift = 7;
	}
	// The interpreter: in the block of 700 segments from number 10 of heap 0 on.
	mark_block(fixture, 0, 0, 10);
	mark_block(fixture, 0, 10, 700);
	memory->stubs.start = starts[0] + (10 + 600) * 128;
	memory->stubs.bytes = INTERPRETER_BYTES;
}

static int set_up(void **state)
{
	struct fixture *fixture = aligned_alloc(_Alignof(struct fixture), sizeof(*fixture));
	uint64_t *words;

	assert_non_null(fixture);
	memset(fixture, 0, sizeof(*fixture));
	words = fixture->memory.words;
	fixture->most_reads = SIZE_MAX;
	fixture->layout =
		(struct hotspot_layout){ .block_bytes = 16, .code_bytes = 8, .complete_bytes = 4 };
	for (size_t i = 0; i < HOTSPOT_WALK_WORDS; i++)
		fixture->layout.words[i] = 0x1000 + i * sizeof(*words);
	words[HOTSPOT_HEAPS] = (uintptr_t)&fixture->memory.array;
	words[HOTSPOT_INTERPRETER] = (uintptr_t)&fixture->memory.stubs;
	words[HOTSPOT_ARRAY_ITEMS] = 8;
	words[HOTSPOT_HEAP_MEMORY] = offsetof(struct code_heap, memory);
	words[HOTSPOT_HEAP_SEGMENTS] = offsetof(struct code_heap, segments);
	words[HOTSPOT_HEAP_SHIFT] = offsetof(struct code_heap, shift);
	words[HOTSPOT_SPACE_LOW] = offsetof(struct virtual_space, low);
	words[HOTSPOT_SPACE_HIGH] = offsetof(struct virtual_space, high);
	words[HOTSPOT_STUBS_START] = offsetof(struct stub_queue, start);
	words[HOTSPOT_STUBS_BYTES] = offsetof(struct stub_queue, bytes);
	words[HOTSPOT_BLOB_NAME] = 96;
	words[HOTSPOT_BLOB_CODE] = 32;
	words[HOTSPOT_BLOB_COMPLETE] = 20;
	words[HOTSPOT_BLOB_FRAME_WORDS] = 28;
	fill_heaps(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void heaps_are_found_by_address(void **state)
{
	struct fixture *fixture = *state;
	const struct runtime_area *heaps = fixture->heaps.areas;

	assert_true(look(fixture));
	assert_int_equal(fixture->heaps.area_count, HEAPS);
	assert_int_equal(heaps[0].start, starts[1]);
	assert_int_equal(heaps[1].start, starts[0]);
	assert_int_equal(heaps[2].start, starts[2]);
	assert_int_equal(heaps[1].limit, starts[0] + HEAP_BYTES);
	assert_int_equal(code_of(&heaps[1])->segments * (uint64_t)PAGE_BYTES,
			 (uintptr_t)fixture->memory.segments[0]);
	assert_int_equal(code_of(&heaps[1])->shift, 7);
}

static uint64_t units(uint64_t bytes)
{
	return bytes / HOTSPOT_UNIT + (bytes % HOTSPOT_UNIT != 0);
}

static void each_heap_is_told_where_the_cache_ends(void **state)
{
	struct fixture *fixture = *state;
	const struct runtime_area *heaps = fixture->heaps.areas;

	assert_true(look(fixture));
	// From 0x7f0000401000, not a byte earlier, to 0x7f0000900000, up to a unit more.
	assert_int_equal(code_of(&heaps[0])->below, 0);
	assert_int_equal(code_of(&heaps[0])->above, units(0x4ff000));
	assert_int_equal(code_of(&heaps[1])->below * HOTSPOT_PAGE, 0x3ff000);
	assert_int_equal(code_of(&heaps[1])->above, units(0x100000));
	assert_int_equal(code_of(&heaps[2])->below * HOTSPOT_PAGE, 0x47f000);
	assert_int_equal(code_of(&heaps[2])->above, units(0x80000));
}

static void a_map_that_begins_within_a_page_is_none(void **state)
{
	struct fixture *fixture = *state;

	fixture->memory.heaps[1].segments.low += 8;
	assert_false(look(fixture));
}

static void members_are_told_from_the_block_on(void **state)
{
	struct fixture *fixture = *state;
	const struct hotspot_area *code = code_of(&fixture->heaps.areas[0]);

	assert_true(look(fixture));
	assert_int_equal(4 * code->frame_words, 16 + 28);
	assert_int_equal(2 * code->complete, 16 + 20);
	assert_int_equal(4 * code->code, 16 + 32);
	assert_int_equal(8 * code->name, 16 + 96);
	assert_false(code->is_narrow || code->has_offsets || code->is_small);
	fixture->layout.block_bytes = 8;
	fixture->layout.code_bytes = 4;
	fixture->layout.complete_bytes = 2;
	assert_true(look(fixture));
	assert_int_equal(4 * code->frame_words, 8 + 28);
	assert_int_equal(code->shift, 7);
	assert_true(code->is_narrow && code->has_offsets && code->is_small);
	fixture->memory.words[HOTSPOT_BLOB_NAME] += 4;
	assert_false(look(fixture)); // between its units
}

static void the_interpreter_s_block_is_known(void **state)
{
	struct fixture *fixture = *state;

	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), INTERPRETER_BYTES);
	assert_int_equal(code_of(&fixture->heaps.areas[1])->interpreter, 10);
	assert_int_equal(code_of(&fixture->heaps.areas[0])->interpreter, HOTSPOT_NO_SEGMENT);
}

/* The rest of the last part may be another's. */
static void all_parts_of_the_interpreter_are_whole(void **state)
{
	struct fixture *fixture = *state;
	enum {
		BEFORE = 600 * 128 /* its code in its block */,
		TO_THE_END = HEAP_BYTES - 610 * 128
	};
	static const struct {
		int32_t bytes;
		uint32_t expected;
	} cases[] = {
		{ 1, 4 },
		{ HOTSPOT_PART * 6 - BEFORE - 1, 5 },
		{ HOTSPOT_PART * 6 - BEFORE, 6 },
		{ 300000, HOTSPOT_PARTS },
		{ TO_THE_END, HOTSPOT_PARTS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fixture->memory.stubs.bytes = cases[i].bytes;
		assert_true(look(fixture));
		assert_int_equal(interpreter_bytes(fixture), cases[i].bytes);
		assert_int_equal(code_of(&fixture->heaps.areas[1])->interpreter_parts,
				 cases[i].expected);
		assert_int_equal(code_of(&fixture->heaps.areas[0])->interpreter_parts, 0);
	}
	// None goes beyond its heap.
	fixture->memory.stubs.bytes = TO_THE_END + 1;
	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), 0);
	fixture->memory.stubs.bytes = -1;
	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), 0);
	assert_int_equal(code_of(&fixture->heaps.areas[1])->interpreter_parts, 0);
}

static void before_the_interpreter_is_made_there_are_heaps(void **state)
{
	struct fixture *fixture = *state;

	fixture->memory.words[HOTSPOT_INTERPRETER] = 0;
	assert_true(look(fixture));
	assert_int_equal(fixture->heaps.area_count, HEAPS);
	assert_int_equal(interpreter_bytes(fixture), 0);
}

static void before_the_heaps_are_made_there_is_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture->memory.words[HOTSPOT_HEAPS] = 0;
	assert_false(look(fixture));
	memset(fixture->memory.words, 0, sizeof(fixture->memory.words));
	assert_false(look(fixture));
	assert_int_equal(fixture->heaps.area_count, 0);
}

static void what_cannot_be_is_no_heap(void **state)
{
	static const struct {
		uint64_t low, high;
		int32_t shift;
	} wrong[] = {
		{ 0, 0x1000, 7 },
		{ 0x400010, 0x500000, 7 },
		{ 0x400000, 0x400000, 7 },
		{ 0x500000, 0x400000, 7 },
		{ 0x400000, 0x500010, 7 },
		{ 0x400000, 0x200400000, 7 },
		{ 0x400000, 0x500000, 63 },
		{ 0x400000, 0x500000, 0 },
		{ 0x400000, 0x500000, -1 },
		{ 0x400000, 1ull << 48, 7 },
		{ 0x7f0000801000, 0x7f0000802000, 7 }, // in another one
	};

	struct fixture *fixture = *state;
	struct code_heap *heap = &fixture->memory.heaps[1];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		heap->memory.low = wrong[i].low;
		heap->memory.high = wrong[i].high;
		heap->shift = wrong[i].shift;
		assert_false(look(fixture));
		assert_int_equal(fixture->heaps.area_count, 0);
	}
}

static void no_number_is_believed(void **state)
{
	struct fixture *fixture = *state;
	static const int32_t lengths[] = { 0, -1, RUNTIME_AREAS + 1, INT32_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		fixture->memory.array.length = lengths[i];
		assert_false(look(fixture));
	}
	fixture->memory.array.length = HEAPS;
	for (size_t i = HOTSPOT_ARRAY_LENGTH; i < HOTSPOT_WALK_WORDS; i++) {
		uint64_t word = fixture->memory.words[i];

		fixture->memory.words[i] = UINT64_MAX - 3;
		assert_false(look(fixture));
		fixture->memory.words[i] = word;
	}
	// Beyond what a range has room for.
	fixture->memory.words[HOTSPOT_BLOB_NAME] = 250;
	assert_false(look(fixture));
	fixture->memory.words[HOTSPOT_BLOB_NAME] = 96;
	assert_true(look(fixture));
}

static void a_map_of_segments_may_lead_nowhere(void **state)
{
	struct fixture *fixture = *state;
	uint8_t *segments = fixture->memory.segments[0];

	segments[10 + 600] = HOTSPOT_FREE;
	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), 0);
	memset(segments, 1, SEGMENTS); // one by one
	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), 0);
	memset(segments, 254, SEGMENTS); // before the first
	assert_true(look(fixture));
	assert_int_equal(interpreter_bytes(fixture), 0);
	assert_true(fixture->reads < 50);
}

static void any_read_may_fail(void **state)
{
	struct fixture *fixture = *state;
	size_t reads;

	assert_true(look(fixture));
	reads = fixture->reads;
	for (fixture->most_reads = 0; fixture->most_reads < reads; fixture->most_reads++)
		assert_true(!look(fixture) || !interpreter_bytes(fixture));
}

static void memory_is_told_apart_by_heaps(void **state)
{
	struct fixture *fixture = *state;
	uint64_t until = starts[2] + 3 * HEAP_BYTES;

	assert_true(look(fixture));
	assert_null(runtime_areas_at(&fixture->heaps, starts[0] - 0x5000, &until));
	assert_int_equal(until, starts[0]);
	until = starts[2] + 3 * HEAP_BYTES;
	assert_ptr_equal(runtime_areas_at(&fixture->heaps, starts[0], &until),
			 &fixture->heaps.areas[1]);
	assert_int_equal(until, starts[0] + HEAP_BYTES); // where the third one begins
	until = starts[2] + 0x2000;
	assert_ptr_equal(runtime_areas_at(&fixture->heaps, starts[2], &until),
			 &fixture->heaps.areas[2]);
	assert_int_equal(until, starts[2] + 0x2000);
	// What does not begin with it cannot be searched.
	until = starts[1] + HEAP_BYTES;
	assert_null(runtime_areas_at(&fixture->heaps, starts[1] + 0x1000, &until));
	until = UINT64_MAX;
	assert_null(runtime_areas_at(&fixture->heaps, starts[2] + HEAP_BYTES, &until));
	assert_int_equal(until, UINT64_MAX);
	assert_true(runtime_areas_hold(&fixture->heaps, starts[1]));
	assert_true(runtime_areas_hold(&fixture->heaps, starts[1] + HEAP_BYTES - 1));
	assert_false(runtime_areas_hold(&fixture->heaps, starts[1] + HEAP_BYTES));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(heaps_are_found_by_address),
		TEST(each_heap_is_told_where_the_cache_ends),
		TEST(a_map_that_begins_within_a_page_is_none),
		TEST(members_are_told_from_the_block_on),
		TEST(the_interpreter_s_block_is_known),
		TEST(all_parts_of_the_interpreter_are_whole),
		TEST(before_the_interpreter_is_made_there_are_heaps),
		TEST(before_the_heaps_are_made_there_is_nothing),
		TEST(what_cannot_be_is_no_heap),
		TEST(no_number_is_believed),
		TEST(a_map_of_segments_may_lead_nowhere),
		TEST(any_read_may_fail),
		TEST(memory_is_told_apart_by_heaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
