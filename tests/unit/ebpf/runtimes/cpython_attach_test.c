// SPDX-License-Identifier: Apache-2.0
/* What the kernel side is told of a process with CPython in it, by memory that may hold anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpython_forged.h"

#include <string.h>

enum { RUNTIME_AT = 0x100 };

static struct forged forged;
static uint64_t base, interpreter, thread;

static void make_process(uint32_t minor)
{
	const struct cpython_offsets *offsets = &forged.layout.offsets;
	uint64_t variables;

	forged_init(&forged, minor);
	variables = forged_room(&forged, 1 << 14);
	interpreter = forged_room(&forged, 1 << 14);
	thread = forged_room(&forged, 1 << 10);
	base = variables - RUNTIME_AT;
	forged.layout.runtime = RUNTIME_AT;
	forged.layout.code_type = RUNTIME_AT + (1 << 13);
	forged_put_word(&forged, base + forged.layout.code_type + 32, offsets->code_bytes);
	forged_put_word(&forged, variables + offsets->runtime_interpreters, interpreter);
	forged_put_word(&forged, interpreter + offsets->interpreter_threads, thread);
	forged_put_word(&forged, thread + offsets->thread_interpreter, interpreter);
}

static bool attach(struct runtime_found *found)
{
	const struct runtime_memory memory = forged_memory(&forged);

	forged.reads = 0;
	return cpython_attach(&forged.layout, base, &memory, found);
}

static void test_the_kernel_is_told_where_what_lies(void **state)
{
	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		struct runtime_found found;
		struct cpython_data data;

		make_process(minor);
		assert_true(attach(&found));
		assert_true(runtime_found_check(&found));
		assert_int_equal(found.refused, RUNTIME_ACCEPTED);
		assert_int_equal(found.progress, 1);
		assert_true(found.complete);
		assert_int_equal(found.area_count, 0);
		assert_int_equal(found.data_bytes, sizeof(data));
		memcpy(&data, found.data, sizeof(data));
		assert_int_equal(data.interpreters,
				 base + RUNTIME_AT + forged.layout.offsets.runtime_interpreters);
		assert_int_equal(data.thread_frame, forged.layout.offsets.thread_frame);
		assert_int_equal(data.flags, minor <= 10   ? CPYTHON_OBJECTS
					     : minor == 11 ? CPYTHON_CFRAMES | CPYTHON_ENTRIES
					     : minor == 12 ? CPYTHON_CFRAMES
							   : 0);
	}
}

static void test_versions_are_as_people_know_them(void **state)
{
	static const struct {
		uint32_t version;
		const char *text;
	} cases[] = {
		{ 0x03060000, "3.6" },    { 0x03070000, "3.7" },    { 0x030a0000, "3.10" },
		{ 0x030b04f0, "3.11.4" }, { 0x030f02f0, "3.15.2" }, { 0x030fffff, "3.15.255" },
	};
	struct runtime_found found;

	(void)state;
	make_process(12);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		forged.layout.version = cases[i].version;
		assert_true(attach(&found));
		assert_string_equal(found.version, cases[i].text);
	}
}

static void test_what_is_refused_says_so(void **state)
{
	struct runtime_found found;

	(void)state;
	for (uint32_t why = RUNTIME_REFUSED_VERSION; why < RUNTIME_REFUSALS; why++) {
		make_process(11);
		forged.layout.refused = why;
		assert_true(attach(&found));
		assert_int_equal(found.refused, why);
		assert_true(found.complete);
		assert_int_equal(found.progress, 0);
		assert_int_equal(found.data_bytes, 0);
		assert_int_equal(forged.reads, 0);
	}
	// Code objects are as large as the offsets want them, where the version alone tells.
	for (uint32_t minor = 6; minor <= 12; minor++) {
		make_process(minor);
		forged_put_word(&forged, base + forged.layout.code_type + 32,
				forged.layout.offsets.code_bytes + 8u);
		assert_true(attach(&found));
		assert_int_equal(found.refused, RUNTIME_REFUSED_LAYOUT);
	}
}

/* It is asked again: while threads come and go, and before there are any, nothing adds up. */
static void test_what_is_not_there_yet_is_asked_for_again(void **state)
{
	struct runtime_found found;

	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		const struct cpython_offsets *offsets = &forged.layout.offsets;

		make_process(minor);
		forged_put_word(&forged, base + RUNTIME_AT + offsets->runtime_interpreters, 0);
		assert_false(attach(&found));
		make_process(minor);
		forged_put_word(&forged, interpreter + offsets->interpreter_threads, 0);
		assert_false(attach(&found));
		make_process(minor);
		forged_put_word(&forged, thread + offsets->thread_interpreter, interpreter + 8);
		assert_false(attach(&found));
		make_process(minor);
		forged_put_word(&forged, thread + offsets->thread_previous, thread);
		assert_false(attach(&found));
	}
}

static void test_wild_pointers_cost_little(void **state)
{
	static const uint64_t wild[] = { 1, 1ull << 47, 1ull << 63, UINT64_MAX, UINT64_MAX - 15 };
	struct runtime_found found;

	(void)state;
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		const struct cpython_offsets *offsets = &forged.layout.offsets;

		make_process(13);
		forged_put_word(&forged, base + RUNTIME_AT + offsets->runtime_interpreters,
				wild[i]);
		assert_false(attach(&found));
		make_process(13);
		forged_put_word(&forged, interpreter + offsets->interpreter_threads, wild[i]);
		assert_false(attach(&found));
		assert_in_range(forged.reads, 1, 16);
	}
	base = UINT64_MAX - 8;
	assert_false(attach(&found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_is_told_where_what_lies),
		cmocka_unit_test(test_versions_are_as_people_know_them),
		cmocka_unit_test(test_what_is_refused_says_so),
		cmocka_unit_test(test_what_is_not_there_yet_is_asked_for_again),
		cmocka_unit_test(test_wild_pointers_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
