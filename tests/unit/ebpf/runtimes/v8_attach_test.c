// SPDX-License-Identifier: Apache-2.0
/* What the kernel side is told of a process with V8, and which layouts are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "v8_forged.h"

#include <string.h>

static struct v8_forged forged;

static void what_is_found_is_the_same_for_every_process(void **state)
{
	const struct runtime_memory memory = v8_forged_memory(&forged);
	struct runtime_found found, foreseen;
	struct v8_data data;
	struct v8_view of_area;
	uint64_t until = UINT64_MAX;

	(void)state;
	v8_forged_init(&forged);
	assert_true(v8_attach(&forged.layout, 0x400000, &memory, &found));
	v8_foresee(&forged.layout, 0x400000, &foreseen);
	assert_memory_equal(&found, &foreseen, sizeof(found));
	assert_true(runtime_found_check(&found));
	assert_true(found.complete && found.progress && !found.refused);
	assert_string_equal(found.version, "V8 12.4.254");
	assert_int_equal(found.data_bytes, sizeof(data));
	memcpy(&data, found.data, sizeof(data));
	assert_int_equal(data.view.shared, 4);
	assert_int_equal(data.view.literal, 13);
	memcpy(&of_area, found.areas[0].area, sizeof(of_area));
	assert_memory_equal(&of_area, &data.view, sizeof(of_area));
	// All memory of no file, wherever a mapping begins.
	assert_ptr_equal(runtime_areas_at(&found, 0x7f1234567000, &until), &found.areas[0]);
	assert_int_equal(until, RUNTIME_ANYWHERE_LIMIT);
}

static void what_is_refused_is_never_asked_again(void **state)
{
	const struct runtime_memory memory = v8_forged_memory(&forged);
	struct runtime_loop loops[RUNTIME_LOOPS];
	struct runtime_found found;

	(void)state;
	v8_forged_init(&forged);
	forged.layout.refused = RUNTIME_REFUSED_VERSION;
	assert_true(v8_attach(&forged.layout, 0, &memory, &found));
	assert_true(runtime_found_check(&found));
	assert_int_equal(found.refused, RUNTIME_REFUSED_VERSION);
	assert_true(found.complete && !found.progress && !found.area_count);
	assert_int_equal(v8_loops(&forged.layout, loops), 0);
}

static void versions_that_nobody_has_looked_at_are_refused(void **state)
{
	static const uint32_t known[] = {
		V8_VERSION(7, 8, 279),  V8_VERSION(7, 9, 317),  V8_VERSION(8, 4, 371),
		V8_VERSION(8, 6, 395),  V8_VERSION(9, 4, 146),  V8_VERSION(9, 6, 180),
		V8_VERSION(10, 2, 154), V8_VERSION(11, 3, 244), V8_VERSION(11, 8, 172),
		V8_VERSION(12, 4, 254), V8_VERSION(13, 6, 233), V8_VERSION(14, 1, 146),
		V8_VERSION(14, 6, 202),
	};
	static const uint32_t unknown[] = {
		0,
		V8_VERSION(6, 8, 0),
		V8_VERSION(8, 5, 210),
		V8_VERSION(10, 8, 0),
		V8_VERSION(12, 9, 202),
		V8_VERSION(14, 7, 0),
		UINT32_MAX,
	};
	struct v8_layout layout;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		v8_forged_init(&forged);
		layout = forged.layout;
		layout.version = known[i];
		assert_true(v8_complete(&layout));
		assert_true(v8_check_layout(&layout));
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		layout.version = unknown[i];
		assert_false(v8_complete(&layout));
	}
}

static void layouts_that_do_not_add_up_are_not_believed(void **state)
{
	struct v8_layout layout;

	(void)state;
	v8_forged_init(&forged);
	assert_true(v8_check_layout(&forged.layout));
	layout = forged.layout;
	layout.loops[2] = (struct runtime_loop){ 2, 1 };
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.refused = RUNTIME_REFUSALS;
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.bytecode_count = 257;
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.offsets.cons_first = 4096;
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.offsets.shared_script = 64;
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.types.scope = 0;
	assert_false(v8_check_layout(&layout));
	layout = forged.layout;
	layout.bytecode_offset = -7;
	assert_false(v8_check_layout(&layout));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_the_same_for_every_process),
		cmocka_unit_test(what_is_refused_is_never_asked_again),
		cmocka_unit_test(versions_that_nobody_has_looked_at_are_refused),
		cmocka_unit_test(layouts_that_do_not_add_up_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
