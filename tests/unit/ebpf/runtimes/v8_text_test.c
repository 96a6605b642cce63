// SPDX-License-Identifier: Apache-2.0
/* Strings of V8's, of all kinds, and such as are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "v8_forged.h"

#include "receiver/ebpf/runtimes/v8/text.h"

#include <string.h>

enum { CONS = 32 | 1, EXTERNAL = 32 | 2, SLICED = 32 | 3, THIN = 32 | 5, ONE_BYTE = 8 };

static struct v8_forged forged;
static struct v8_text text;

static enum runtime_outcome append(uint64_t object)
{
	const struct runtime_memory memory = v8_forged_memory(&forged);
	const struct v8_heap heap = { &forged.layout, &memory, 0 };

	return v8_append_text(&heap, object, &text);
}

static void expect(uint64_t object, const char *characters)
{
	text.length = 0;
	assert_int_equal(append(object), RUNTIME_NAMED);
	assert_int_equal(text.length, strlen(characters));
	assert_memory_equal(text.bytes, characters, text.length);
}

static uint64_t make(uint16_t type, uint32_t length, uint64_t first, uint64_t second)
{
	uint64_t object = v8_forged_object(&forged, v8_forged_map(&forged, type), 32);

	v8_forged_put_half(&forged, object, 12, length);
	v8_forged_put(&forged, object, 16, first);
	v8_forged_put(&forged, object, 24, second);
	return object;
}

static void characters_are_of_one_byte_or_two(void **state)
{
	static const uint16_t wide[] = { 'a', 0xe4, 0x416, 0xd83d, 0xde00, 0xd83d, 'z', 0 };

	(void)state;
	v8_forged_init(&forged);
	expect(v8_forged_text(&forged, ""), "");
	expect(v8_forged_text(&forged, "open\xe4"), "openä");
	// Pairs of surrogates are one character, what is half of one is none.
	expect(v8_forged_wide(&forged, wide, 8), "aäЖ😀�z�");
}

static void strings_are_made_of_others(void **state)
{
	uint64_t left, right, both;

	(void)state;
	v8_forged_init(&forged);
	left = v8_forged_text(&forged, "left");
	right = v8_forged_wide(&forged, (const uint16_t[]){ 0x416, 'r' }, 2);
	both = make(CONS, 6, left, right);
	expect(both, "leftЖr");
	expect(make(CONS, 12, both, both), "leftЖrleftЖr");
	expect(make(SLICED | ONE_BYTE, 2, left, v8_forged_number(1)), "ef");
	expect(make(THIN, 4, left, 0), "left");
	expect(make(SLICED | ONE_BYTE, 1, make(THIN, 4, left, 0), v8_forged_number(3)), "t");
	expect(make(EXTERNAL | ONE_BYTE, 3, 0, left - V8_TAG + 16), "lef");
	expect(make(EXTERNAL, 2, 0, right - V8_TAG + 16), "Жr");
}

static void strings_that_are_none_are_refused(void **state)
{
	uint64_t loop, left;

	(void)state;
	v8_forged_init(&forged);
	left = v8_forged_text(&forged, "left");
	text.length = 0;
	assert_int_equal(append(0), RUNTIME_MALFORMED);
	assert_int_equal(append(v8_forged_number(5)), RUNTIME_MALFORMED);
	assert_int_equal(append(forged.maps[0]), RUNTIME_MALFORMED);
	assert_int_equal(append(make(SLICED, 2, left, v8_forged_number(-1))), RUNTIME_MALFORMED);
	assert_int_equal(append(make(32 | 7, 2, left, left)), RUNTIME_MALFORMED);
	// One whose characters only its owner finds.
	assert_int_equal(append(make(EXTERNAL | 16, 2, 0, left)), RUNTIME_MALFORMED);
	loop = make(THIN, 4, 0, 0);
	v8_forged_put(&forged, loop, 16, loop);
	assert_int_equal(append(loop), RUNTIME_MALFORMED);
	assert_int_equal(append(make(EXTERNAL, 2, 0, 0x7f0000000000)), RUNTIME_UNREADABLE);
	assert_int_equal(append(make(32, INT32_MAX, 0, 0)), RUNTIME_UNREADABLE);
	forged.reads = 0;
	loop = make(CONS, 4, 0, 0);
	v8_forged_put(&forged, loop, 16, loop);
	v8_forged_put(&forged, loop, 24, loop);
	append(loop);
	assert_in_range(forged.reads, 1, 10000);
}

static void long_texts_are_cut_between_characters(void **state)
{
	static char many[5000];
	static uint16_t wide[3000];

	(void)state;
	v8_forged_init(&forged);
	memset(many, 'a', sizeof(many) - 1);
	text.length = 0;
	assert_int_equal(append(v8_forged_text(&forged, many)), RUNTIME_NAMED);
	assert_int_equal(text.length, V8_TEXT_BYTES);
	for (size_t i = 0; i < 3000; i++)
		wide[i] = 0x416;
	text.length = 1;
	assert_int_equal(append(v8_forged_wide(&forged, wide, 3000)), RUNTIME_NAMED);
	assert_int_equal(text.length, V8_TEXT_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_are_of_one_byte_or_two),
		cmocka_unit_test(strings_are_made_of_others),
		cmocka_unit_test(strings_that_are_none_are_refused),
		cmocka_unit_test(long_texts_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
