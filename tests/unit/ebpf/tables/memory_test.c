// SPDX-License-Identifier: Apache-2.0
/* What of the kernel side's memory is given back. */
#include "tables/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LIMIT_SLABS = 8 };

static uint32_t slab_count;
static uint64_t now_ns;
static uint8_t bytes[UNWIND_OBJECT_BYTES];

static int create(void *context, uint32_t slab)
{
	(void)context;
	assert_int_equal(slab, slab_count);
	slab_count++;
	return 0;
}

static int write_bytes(void *context, uint32_t slab, uint32_t offset, const void *from,
		       size_t length)
{
	(void)context;
	(void)from;
	assert_true(slab < slab_count && offset + length <= UNWIND_OBJECT_BYTES);
	return 0;
}

static void keep(void *context, uint32_t count)
{
	(void)context;
	assert_true(count <= slab_count);
	slab_count = count;
}

static uint64_t clock_ns(void)
{
	return now_ns;
}

static struct memory *create_memory(void)
{
	static const struct memory_slabs slabs = {
		.create = create,
		.write = write_bytes,
		.keep = keep,
	};

	slab_count = 0;
	now_ns = 1;
	return memory_create(&slabs, LIMIT_SLABS * (uint64_t)UNWIND_SLAB_BYTES, clock_ns);
}

/* Three objects that fill a slab each, but for the first line of the first. */
static void fill(struct memory *memory, uint32_t handles[3])
{
	for (size_t i = 0; i < 3; i++) {
		handles[i] = memory_put(memory, MEMORY_DROPPABLE, bytes, UNWIND_OBJECT_BYTES);
		assert_int_not_equal(handles[i], 0);
	}
	assert_int_equal(slab_count, 4);
}

static void empty_slabs_at_the_end_are_given_back_after_the_grace_period(void **state)
{
	struct memory *memory = create_memory();
	uint32_t handles[3];

	(void)state;
	fill(memory, handles);
	memory_free(memory, MEMORY_DROPPABLE, handles[2], UNWIND_OBJECT_BYTES);
	memory_trim(memory);
	assert_int_equal(slab_count, 4); // a walk may still be reading it
	now_ns += 1000000000;
	memory_trim(memory);
	assert_int_equal(slab_count, 3);
	memory_destroy(memory);
}

static void one_in_use_holds_those_before_it(void **state)
{
	struct memory *memory = create_memory();
	uint32_t handles[3];

	(void)state;
	fill(memory, handles);
	memory_free(memory, MEMORY_DROPPABLE, handles[0], UNWIND_OBJECT_BYTES);
	now_ns += 1000000000;
	memory_trim(memory);
	assert_int_equal(slab_count, 4);
	memory_destroy(memory);
}

static void what_was_given_back_can_be_had_again(void **state)
{
	struct memory *memory = create_memory();
	uint32_t handles[3];

	(void)state;
	fill(memory, handles);
	for (size_t i = 0; i < 3; i++)
		memory_free(memory, MEMORY_DROPPABLE, handles[i], UNWIND_OBJECT_BYTES);
	now_ns += 1000000000;
	memory_trim(memory);
	assert_int_equal(slab_count, 1);
	fill(memory, handles);
	memory_destroy(memory);
}

static void a_lower_limit_holds_for_what_is_new(void **state)
{
	struct memory *memory = create_memory();
	uint32_t handles[3];

	(void)state;
	fill(memory, handles);
	memory_set_limit(memory, 2 * (uint64_t)UNWIND_SLAB_BYTES);
	assert_int_equal(memory_put(memory, MEMORY_DROPPABLE, bytes, UNWIND_OBJECT_BYTES), 0);
	memory_set_limit(memory, 5 * (uint64_t)UNWIND_SLAB_BYTES);
	assert_int_not_equal(memory_put(memory, MEMORY_DROPPABLE, bytes, UNWIND_OBJECT_BYTES), 0);
	memory_destroy(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_slabs_at_the_end_are_given_back_after_the_grace_period),
		cmocka_unit_test(one_in_use_holds_those_before_it),
		cmocka_unit_test(what_was_given_back_can_be_had_again),
		cmocka_unit_test(a_lower_limit_holds_for_what_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
