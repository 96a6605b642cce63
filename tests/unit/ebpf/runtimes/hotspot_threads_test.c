// SPDX-License-Identifier: Apache-2.0
/* The names of Java's threads, read from memory made by hand. */
#include "hotspot_forged_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct forged *forged;
static struct forged_jvm jvm;
static char answer[4096];
static uint64_t requests;

static struct hotspot_offsets *offsets(void)
{
	return (void *)forged->process.data;
}

static void make(size_t kind)
{
	forged_jvm_init(&jvm, forged, &forged_jvm_kinds[kind]);
}

static void put_text(const void *text, size_t bytes, bool is_wide)
{
	forged_jvm_put_text(&jvm, 1, text, bytes, (uint32_t)bytes, is_wide);
}

static bool take(void *context, const struct runtime_line *line)
{
	(void)context;
	assert_true(line->function_bytes < sizeof(answer));
	memcpy(answer, line->function, line->function_bytes);
	answer[line->function_bytes] = '\0';
	return true;
}

static enum runtime_outcome name(uint32_t tid)
{
	const struct runtime_memory memory = forged_memory(forged);
	const struct runtime_lines to = { take, NULL };

	answer[0] = '\0';
	forged->reads = forged->read_bytes = forged->renewed = 0;
	return hotspot_name_thread(&forged->process, &memory, tid, &to);
}

static int set_up(void **state)
{
	(void)state;
	forged = calloc(1, sizeof(*forged));
	return forged ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(forged);
	return 0;
}

static void test_a_thread_has_the_name_of_its_object(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "orders and invoices");
		assert_int_equal(name(FORGED_OTHER_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "another");
		assert_int_equal(name(1), RUNTIME_GONE);
		assert_int_equal(name(0), RUNTIME_GONE);
	}
}

static void test_names_may_be_of_any_characters(void **state)
{
	static const uint16_t wide[] = { 'x', 0xe4, 0x4e2d, 0xd83d, 0xde00, 0xd83d, 'y', 0xde00 };
	static const uint8_t latin[] = { 'a', 0xe4, 0, 0xff };

	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		put_text(wide, sizeof(wide), true);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		// A surrogate alone is no character.
		assert_string_equal(answer, "xä中😀\xef\xbf\xbdy\xef\xbf\xbd");
		if (jvm.kind->version == 8)
			continue;
		put_text(latin, sizeof(latin), false);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "aä\xef\xbf\xbdÿ");
	}
}

/* What a String calls Latin-1 is that, even if it would be UTF-8, too. */
static void test_bytes_of_latin_1_are_characters_each(void **state)
{
	static const char utf8[] = "ä", broken[] = "\xe4\xb8"
						   "b\xf0\x9f\x98";

	(void)state;
	for (size_t i = 1; i < FORGED_JVM_KINDS; i++) {
		make(i);
		put_text(utf8, strlen(utf8), false);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "Ã¤");
		put_text(broken, strlen(broken), false);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "ä¸bð\xc2\x9f\xc2\x98");
	}
}

/* The last unit of UTF-16 lacks a byte, or the first half of a character is the last that counts.
 */
static void test_half_a_character_at_the_end_shows_none(void **state)
{
	uint16_t many[600];

	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		forged_jvm_put_text(&jvm, 1, (const uint16_t[]){ 0x4e2d, 0x4e2e }, 4, 3, true);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "中");
		for (size_t unit = 0; unit < 600; unit++)
			many[unit] = unit % 2 ? 0xd83d : 0xde00;
		put_text(many, sizeof(many), true);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		// 0xde00 alone, 249 whole ones, 0xd83d alone.
		assert_int_equal(strlen(answer), 3 + 249 * 4 + 3);
		assert_memory_equal(answer, "\xef\xbf\xbd😀", 7);
		assert_string_equal(answer + 3 + 248 * 4, "😀\xef\xbf\xbd");
	}
}

static void test_a_name_without_letters_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		put_text("", 0, false);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		put_text("", 0, true);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		assert_string_equal(answer, "");
	}
}

/* Of a text the first 500 units are shown, however long it is, or says to be. */
static void test_long_names_are_cut(void **state)
{
	enum { MOST = 500, LONG = 1 << 16 };
	static char many[LONG];
	char expected[MOST + 1] = "", wide[3 * MOST + 1] = "";

	(void)state;
	memset(many, 'm', sizeof(many));
	memset(expected, 'm', MOST);
	for (size_t i = 0; i < MOST; i++)
		memcpy(wide + 3 * i, "\xe6\xb5\xad", 3); // U+6D6D
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		bool is_wide = forged_jvm_kinds[i].version == 8;

		make(i);
		put_text(many, sizeof(many), is_wide);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, is_wide ? wide : expected);
		assert_true(forged->read_bytes < LONG);
		put_text(many, sizeof(many), true);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, wide);
		forged_jvm_put_text(&jvm, 1, many, 2 * MOST, UINT32_MAX, true);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, wide);
		// There is less than it says.
		forged_jvm_put_text(&jvm, 1, many, 16, LONG, true);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
	}
}

static void test_nothing_is_believed_while_objects_move(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		forged_put(forged, forged_jvm_at(jvm.heap, HOTSPOT_HEAP_ACTIVE), 1, 1);
		assert_int_equal(name(FORGED_TID), RUNTIME_UNREADABLE);
		assert_string_equal(answer, "");
	}
}

/* A collection has come and gone. */
static void collect(struct forged *of, size_t number)
{
	if (number == 20)
		forged_put(of, forged_jvm_at(jvm.heap, HOTSPOT_HEAP_COLLECTIONS), 8, 4);
}

/* One has begun. */
static void begin_collection(struct forged *of, size_t number)
{
	if (number == 20)
		forged_put(of, forged_jvm_at(jvm.heap, HOTSPOT_HEAP_ACTIVE), 1, 1);
}

static void test_nothing_is_believed_that_was_read_beside_a_collection(void **state)
{
	(void)state;
	make(FORGED_JVM_17);
	forged->before = collect;
	assert_int_equal(name(FORGED_TID), RUNTIME_UNREADABLE);
	assert_int_equal(forged->renewed, 2);
	make(FORGED_JVM_17);
	forged->before = begin_collection;
	assert_int_equal(name(FORGED_TID), RUNTIME_UNREADABLE);
	// After it there is a name again.
	make(FORGED_JVM_17);
	forged_put(forged, forged_jvm_at(jvm.heap, HOTSPOT_HEAP_COLLECTIONS), 8, 4);
	assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
}

/* The read before which a collection moves the thread's object and text, or none. */
static size_t moves_before;

/* What lay there is overwritten: the text by that of the other thread. */
static void move_objects(struct forged *of, size_t number)
{
	uint64_t object = jvm.objects[1], string = jvm.strings[1], array = jvm.arrays[1];

	if (number != moves_before)
		return;
	forged_put(of, forged_jvm_at(jvm.heap, HOTSPOT_HEAP_COLLECTIONS), 1, 4);
	jvm.objects[1] = forged_room(of, 64);
	jvm.strings[1] = forged_room(of, 64);
	forged_jvm_put_class(&jvm, jvm.objects[1], jvm.worker_class.klass);
	forged_jvm_put_class(&jvm, jvm.strings[1], jvm.string_class.klass);
	forged_put(of, jvm.objects[1] + FORGED_OWNER_AT, jvm.threads[1], 8);
	forged_jvm_put_pointer(&jvm, jvm.objects[1] + FORGED_NAME_AT, jvm.strings[1]);
	forged_put(of,
		   jvm.kind->has_handles ? jvm.handles[1]
					 : forged_jvm_at(jvm.threads[1], HOTSPOT_THREAD_OBJECT),
		   jvm.objects[1], 8);
	forged_jvm_put_ascii(&jvm, 1, "orders and invoices");
	forged_put(of, object + FORGED_OWNER_AT, jvm.threads[1], 8);
	forged_jvm_put_pointer(&jvm, object + FORGED_NAME_AT, jvm.strings[0]);
	forged_jvm_put_pointer(&jvm, string + FORGED_VALUE_AT, jvm.arrays[0]);
	memset(of->bytes + (array - of->start) + 16, 'z', 16);
}

static void test_a_name_that_moves_is_the_right_one_or_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		size_t reads;

		make(i);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		reads = forged->reads;
		for (moves_before = 1; moves_before <= reads; moves_before++) {
			enum runtime_outcome outcome;

			make(i);
			forged->before = move_objects;
			outcome = name(FORGED_TID);
			assert_true(outcome == RUNTIME_NAMED || outcome == RUNTIME_UNREADABLE);
			assert_string_equal(answer,
					    outcome == RUNTIME_NAMED ? "orders and invoices" : "");
			// Where it lies by now it has its name.
			forged->before = NULL;
			assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
			assert_string_equal(answer, "orders and invoices");
		}
	}
}

/* A JVM whose thread has been named within a request with a number, which has read the list. */
static void make_and_ask(size_t kind)
{
	make(kind);
	forged->number = ++requests;
	assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
}

static void test_within_a_request_the_list_is_read_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		size_t reads;

		make_and_ask(i);
		reads = forged->reads;
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_true(forged->reads < reads);
		assert_int_equal(name(FORGED_OTHER_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "another");
	}
}

/* Since the list was read a JavaThread has become another thread's. */
static void test_a_thread_that_was_listed_names_no_other_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make_and_ask(i);
		forged_put(forged, forged_jvm_at(jvm.systems[1], HOTSPOT_SYSTEM_ID), 99, 4);
		assert_int_equal(name(FORGED_TID), RUNTIME_GONE);
		assert_string_equal(answer, "");
		// It has ended.
		forged_put(forged, forged_jvm_at(jvm.threads[1], HOTSPOT_THREAD_SYSTEM), 0, 8);
		assert_int_equal(name(FORGED_TID), RUNTIME_GONE);
		assert_string_equal(answer, "");
	}
}

/* The list lies elsewhere, with a thread that has the number of one that has ended. What was of
 * that one still says to be it. */
static void move_list(void)
{
	forged_jvm_make_thread(&jvm, 1, FORGED_TID);
	forged_jvm_put_ascii(&jvm, 1, "a thread of later on");
	forged_jvm_list_threads(&jvm);
}

static void test_another_request_reads_the_list_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make_and_ask(i);
		move_list();
		forged->number = ++requests;
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "a thread of later on");
		// A request without a number is never the one of before.
		forged->number = 0;
		move_list();
		forged_jvm_put_ascii(&jvm, 1, "the last one");
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "the last one");
		move_list();
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "a thread of later on");
	}
}

static void test_an_object_of_another_thread_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		forged_put(forged, jvm.objects[1] + FORGED_OWNER_AT, jvm.threads[0], 8);
		assert_int_equal(name(FORGED_TID), RUNTIME_GONE);
		// It has ended.
		forged_put(forged, jvm.objects[1] + FORGED_OWNER_AT, 0, 8);
		assert_int_equal(name(FORGED_TID), RUNTIME_GONE);
	}
}

static void test_what_is_no_such_object_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		make(i);
		forged_jvm_put_class(&jvm, jvm.objects[1], jvm.string_class.klass);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		make(i);
		forged_jvm_put_class(&jvm, jvm.strings[1], jvm.thread_class.klass);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		make(i);
		forged_jvm_put_class(&jvm, jvm.arrays[1], jvm.string_class.klass);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		make(i);
		forged_jvm_put_pointer(&jvm, jvm.objects[1] + FORGED_NAME_AT, 0);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
		// Classes above each other in a circle, none of which is the one.
		make(i);
		forged_jvm_put_class(&jvm, jvm.objects[1], jvm.string_class.klass);
		forged_put(forged, forged_jvm_at(jvm.string_class.klass, HOTSPOT_KLASS_SUPER),
			   jvm.string_class.klass, 8);
		assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
	}
	// In a compact header the mark says that the object is elsewhere.
	make(FORGED_JVM_COMPACT);
	forged_put(forged, jvm.objects[1], 3, 1);
	assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
}

static void test_a_collector_that_moves_objects_at_any_time_gives_no_names(void **state)
{
	(void)state;
	make(FORGED_JVM_17);
	offsets()->names_threads = 0;
	assert_int_equal(name(FORGED_TID), RUNTIME_MALFORMED);
	assert_int_equal(forged->reads, 0);
}

static void test_lists_without_an_end_are_left(void **state)
{
	(void)state;
	make(0);
	forged_put(forged, forged_jvm_at(jvm.threads[1], HOTSPOT_THREAD_NEXT), jvm.threads[0], 8);
	assert_int_equal(name(1), RUNTIME_GONE);
	assert_true(forged->reads < 20000);
	// A list may lie, and say to be, anywhere.
	make(FORGED_JVM_17);
	forged_jvm_put_static(&jvm, HOTSPOT_THREADS, UINT64_MAX - 8);
	assert_int_equal(name(FORGED_TID), RUNTIME_GONE);
	make(FORGED_JVM_17);
	forged_jvm_put_static(&jvm, HOTSPOT_THREADS, jvm.statics);
	name(1);
	assert_true(forged->reads < 20000);
}

static void test_memory_that_cannot_be_read_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORGED_JVM_KINDS; i++) {
		size_t reads;

		make(i);
		assert_int_equal(name(FORGED_TID), RUNTIME_NAMED);
		reads = forged->reads;
		for (size_t most = 0; most < reads; most++) {
			forged->most_reads = most;
			assert_int_not_equal(name(FORGED_TID), RUNTIME_NAMED);
			assert_string_equal(answer, "");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_has_the_name_of_its_object),
		cmocka_unit_test(test_names_may_be_of_any_characters),
		cmocka_unit_test(test_bytes_of_latin_1_are_characters_each),
		cmocka_unit_test(test_half_a_character_at_the_end_shows_none),
		cmocka_unit_test(test_a_name_without_letters_is_none),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_nothing_is_believed_while_objects_move),
		cmocka_unit_test(test_nothing_is_believed_that_was_read_beside_a_collection),
		cmocka_unit_test(test_a_name_that_moves_is_the_right_one_or_none),
		cmocka_unit_test(test_within_a_request_the_list_is_read_once),
		cmocka_unit_test(test_a_thread_that_was_listed_names_no_other_one),
		cmocka_unit_test(test_another_request_reads_the_list_anew),
		cmocka_unit_test(test_an_object_of_another_thread_names_none),
		cmocka_unit_test(test_what_is_no_such_object_names_none),
		cmocka_unit_test(test_a_collector_that_moves_objects_at_any_time_gives_no_names),
		cmocka_unit_test(test_lists_without_an_end_are_left),
		cmocka_unit_test(test_memory_that_cannot_be_read_names_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
