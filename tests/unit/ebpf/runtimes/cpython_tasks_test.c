// SPDX-License-Identifier: Apache-2.0
/* Tasks of asyncio: where they lie, and what they are called, by memory that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpython_forged.h"
#include "cpython_words.h"

#include <stdio.h>
#include <string.h>

/* ---- where they lie ---- */

static const uint64_t *words_of(uint32_t minor)
{
	return minor == 14 ? cpython_words_14 : cpython_words_15;
}

static const uint64_t *said_by(uint32_t minor)
{
	return minor == 14 ? cpython_asyncio_14 : cpython_asyncio_15;
}

static bool find(uint32_t minor, const uint64_t *words, const uint64_t *said,
		 struct cpython_tasks *ret)
{
	*ret = (struct cpython_tasks){ 0 };
	return cpython_find_tasks(minor, words, CPYTHON_WORDS, said, ret);
}

static void test_tasks_lie_where_the_module_says(void **state)
{
	(void)state;
	for (uint32_t minor = 14; minor <= 15; minor++) {
		struct cpython_tasks said, derived;

		assert_true(find(minor, words_of(minor), said_by(minor), &said));
		assert_int_equal(said.thread, said_by(minor)[11]);
		assert_int_equal(said.awaiter, 96);
		assert_int_equal(said.marks, 108);
		assert_int_equal(said.coroutine, 128);
		assert_int_equal(said.name, 136);
		assert_int_equal(said.coroutine_frame, 72);
		assert_int_equal(said.coroutine_state, 67);
		assert_int_equal(said.frame_stack, 64);
		// Where the module is another file they are the same.
		assert_true(find(minor, words_of(minor), NULL, &derived));
		assert_memory_equal(&said, &derived, sizeof(said));
	}
}

static void test_a_shorter_thread_state_has_its_task_nearer(void **state)
{
	struct cpython_tasks tasks;
	uint64_t words[CPYTHON_WORDS];

	(void)state;
	memcpy(words, cpython_words_14, sizeof(words));
	words[22] = 824;
	assert_true(find(14, words, NULL, &tasks));
	assert_int_equal(tasks.thread, 864);
}

static void test_other_versions_have_none(void **state)
{
	struct cpython_tasks tasks, none = { 0 };

	(void)state;
	for (uint32_t minor = 0; minor < 30; minor++)
		if (minor != 14 && minor != 15) {
			assert_false(find(minor, cpython_words_15, NULL, &tasks));
			assert_memory_equal(&tasks, &none, sizeof(none));
		}
	assert_false(find(14, cpython_words_15, NULL, &tasks));
	assert_false(find(15, cpython_words_14, NULL, &tasks));
	assert_false(cpython_find_tasks(15, cpython_words_15, 102, NULL, &tasks));
	assert_true(cpython_find_tasks(15, cpython_words_15, 103, NULL, &tasks));
}

/* Whatever is said, what is made of it can be used, or is nothing. */
static void test_words_may_be_anything(void **state)
{
	static const uint64_t odd[] = { 0, 1, 7, 0xfff0, 0x10000, 1ull << 63, UINT64_MAX };
	struct cpython_tasks tasks, none = { 0 };

	(void)state;
	for (uint32_t minor = 14; minor <= 15; minor++)
		for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
			for (size_t at = 0; at < CPYTHON_WORDS + CPYTHON_SAID_WORDS; at++) {
				uint64_t words[CPYTHON_WORDS + CPYTHON_SAID_WORDS];

				memcpy(words, words_of(minor), 8 * CPYTHON_WORDS);
				memcpy(words + CPYTHON_WORDS, said_by(minor),
				       8 * CPYTHON_SAID_WORDS);
				words[at] = odd[i];
				if (find(minor, words, words + CPYTHON_WORDS, &tasks))
					assert_int_not_equal(tasks.thread, 0);
				else
					assert_memory_equal(&tasks, &none, sizeof(none));
			}
}

/* ---- what they are called ---- */

static struct forged forged;
static char named[8192];
static unsigned int lines;

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	lines++;
	snprintf(named, sizeof(named), "%.*s", (int)line->function_bytes, line->function);
	assert_int_equal(line->file_bytes, 0);
	assert_int_equal(line->line, 0);
	return true;
}

static enum runtime_outcome resolve(uint32_t kind, uint64_t object, uint32_t check)
{
	const struct runtime_memory memory = forged_memory(&forged);
	const struct runtime_lines to = { take_line, NULL };
	const struct runtime_frame frame = { .object = object, .check = check, .kind = kind };
	struct runtime_process process = { 0 };

	lines = 0;
	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	forged.reads = forged.read_bytes = 0;
	return cpython_resolve(&process, &memory, &frame, &to);
}

/* As the kernel side makes it, of @characters of @width bytes. */
static uint32_t check_of(const uint32_t *characters, size_t count, size_t width)
{
	uint8_t bytes[1 << 15] = { 0 };
	__u64 words[CPYTHON_TEXT_WORDS] = { 0 };
	size_t length = count * width;

	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * width, &characters[i], width);
	memcpy(words, bytes, length < 24 ? length : 24);
	if (length >= 8)
		memcpy(&words[3], bytes + length - 8, 8);
	return cpython_text_check(count, words);
}

static uint64_t make_name(uint32_t minor, const uint32_t *characters, size_t count, size_t width)
{
	uint64_t text;

	forged_init(&forged, minor);
	text = forged_text(&forged, characters, count, width);
	forged_put_word(&forged, text, 2); // references
	return text;
}

static void test_names_of_tasks_are_those_that_the_program_gave(void **state)
{
	static const struct {
		uint32_t characters[40];
		size_t count, width;
		const char *shown;
	} cases[] = {
		{ { 'x' }, 1, 1, "<task x>" },
		{ { 'f', 'e', 't', 'c', 'h', 'e', 'r' }, 7, 1, "<task fetcher>" },
		{ { 'g', 'r', 0xf6, 0xdf, 'e' }, 5, 1, "<task größe>" },
		{ { 0x438, 0x43c, 0x44f }, 3, 2, "<task имя>" },
		{ { 0x20000, 'a', 'b' }, 3, 4, "<task 𠀀ab>" },
		{ { 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a',
		    'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a',
		    'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', '1', '7' },
		  35,
		  1,
		  "<task aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa17>" },
	};

	(void)state;
	for (uint32_t minor = 14; minor <= 15; minor++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			uint64_t text = make_name(minor, cases[i].characters, cases[i].count,
						  cases[i].width);
			uint32_t check =
				check_of(cases[i].characters, cases[i].count, cases[i].width);

			assert_int_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_NAMED);
			assert_int_equal(lines, 1);
			assert_string_equal(named, cases[i].shown);
		}
}

static void test_what_the_kernel_side_says_alone_needs_no_memory(void **state)
{
	static const char *const remarks[] = { "<awaited by several tasks>",
					       "<awaited by more tasks>", "<more coroutines>" };

	(void)state;
	forged_init(&forged, 14);
	assert_int_equal(resolve(CPYTHON_TASK, 0, 0), RUNTIME_NAMED);
	assert_string_equal(named, "<task>");
	for (uint32_t i = 0; i < CPYTHON_REMARKS - 1; i++) {
		assert_int_equal(resolve(CPYTHON_REMARK, i + 1, 0), RUNTIME_NAMED);
		assert_string_equal(named, remarks[i]);
	}
	assert_int_equal(forged.reads, 0);
	assert_int_equal(resolve(CPYTHON_REMARK, 0, 0), RUNTIME_MALFORMED);
	assert_int_equal(resolve(CPYTHON_REMARK, CPYTHON_REMARKS, 0), RUNTIME_MALFORMED);
	assert_int_equal(resolve(CPYTHON_REMARK, UINT64_MAX, 0), RUNTIME_MALFORMED);
	assert_int_equal(resolve(CPYTHON_KINDS, 0, 0), RUNTIME_MALFORMED);
	assert_int_equal(resolve(255, 0, 0), RUNTIME_MALFORMED);
	assert_int_equal(lines, 0);
}

static const uint32_t handler[] = { 'h', 'a', 'n', 'd', 'l', 'e', 'r', ' ', '1', '7' };

static void test_another_text_is_gone(void **state)
{
	uint64_t text = make_name(14, handler, 10, 1);
	uint32_t check = check_of(handler, 10, 1);

	(void)state;
	assert_int_equal(resolve(CPYTHON_TASK, text, check ^ 1), RUNTIME_GONE);
	// The next one may have come to lie there.
	*forged_at(&forged, text + 40 + 9) = '8';
	assert_int_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_GONE);
	*forged_at(&forged, text + 40 + 9) = '7';
	assert_int_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_NAMED);
	forged_put_word(&forged, text, 0x7f5512345670 & ~0xffffffffull);
	assert_int_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_GONE);
	forged_put_word(&forged, text, 1);
	forged_put_word(&forged, text + 8, forged.bytes_type);
	assert_int_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_GONE);
	assert_int_equal(lines, 0);
}

static uint64_t changing;

static void change_text(struct forged *memory, size_t number)
{
	if (number == 9)
		*forged_at(memory, changing + 40) = 'H';
}

static void test_a_text_that_changes_while_it_is_read_is_gone(void **state)
{
	(void)state;
	changing = make_name(15, handler, 10, 1);
	forged.before = change_text;
	assert_int_equal(resolve(CPYTHON_TASK, changing, check_of(handler, 10, 1)), RUNTIME_GONE);
	assert_int_equal(lines, 0);
}

static void test_lengths_may_be_anything(void **state)
{
	static const uint64_t odd[] = { 0,          1 << 20,    (1 << 20) + 1,
					1ull << 32, 1ull << 63, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (uint32_t kind = 0; kind < 8; kind++) {
			uint64_t text = make_name(14, handler, 10, 1);
			uint32_t check = check_of(handler, 10, 1);

			forged_put_word(&forged, text + 16, odd[i]);
			forged_put_int(&forged, text + 32, kind << 2 | 3 << 5);
			assert_int_not_equal(resolve(CPYTHON_TASK, text, check), RUNTIME_NAMED);
			assert_in_range(forged.read_bytes, 1, 4096);
		}
	assert_int_equal(resolve(CPYTHON_TASK, 8, 0), RUNTIME_UNREADABLE);
	assert_int_equal(resolve(CPYTHON_TASK, UINT64_MAX - 8, 0), RUNTIME_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_lie_where_the_module_says),
		cmocka_unit_test(test_a_shorter_thread_state_has_its_task_nearer),
		cmocka_unit_test(test_other_versions_have_none),
		cmocka_unit_test(test_words_may_be_anything),
		cmocka_unit_test(test_names_of_tasks_are_those_that_the_program_gave),
		cmocka_unit_test(test_what_the_kernel_side_says_alone_needs_no_memory),
		cmocka_unit_test(test_another_text_is_gone),
		cmocka_unit_test(test_a_text_that_changes_while_it_is_read_is_gone),
		cmocka_unit_test(test_lengths_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
