// SPDX-License-Identifier: Apache-2.0
/* What is told of samples that were cut; tables_note_* are played here. */
#include "tables/notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 4 };

struct record {
	struct sample_head head;
	uint64_t frames[FRAMES];
};

struct told {
	struct process_key key;
	uint32_t file;
	uint64_t place;
};

static struct notes notes;
static struct told told[64];
static size_t told_count;
static bool full;

static bool tell(struct told what)
{
	if (!full)
		told[told_count++ % 64] = what;
	return !full;
}

bool tables_note_miss(struct tables *tables, uint32_t file, uint64_t file_offset)
{
	(void)tables;
	return tell((struct told){ .file = file, .place = file_offset });
}

bool tables_note_address(struct tables *tables, const struct process_key *key, uint64_t address)
{
	(void)tables;
	return tell((struct told){ .key = *key, .place = address });
}

static int set_up(void **state)
{
	(void)state;
	memset(&notes, 0, sizeof(notes));
	told_count = 0;
	full = false;
	return 0;
}

static struct record cut(enum unwind_end end, uint16_t kernel_count, uint16_t user_words)
{
	return (struct record){ .head = { .time_ns = 5000000000,
					  .start_boottime_ns = 77,
					  .pid = 12,
					  .exec_id = 3,
					  .end = (uint16_t)end,
					  .kernel_count = kernel_count,
					  .user_words = user_words } };
}

static uint64_t place(uint64_t file, uint64_t offset)
{
	return UNWIND_FRAME_FILE | (file + 1) << UNWIND_FRAME_SHIFT | offset;
}

static void a_missing_page_is_where_the_walk_ended(void **state)
{
	struct record record = cut(UNWIND_END_NO_PAGE, 1, 2);

	(void)state;
	record.frames[1] = place(4, 0x111);
	record.frames[2] = place(5, 0x2222);
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 1);
	assert_int_equal(told[0].file, 5);
	assert_int_equal(told[0].place, 0x2222);
}

/* Callers are return addresses: one may be the first byte behind a page. */
static void of_an_unknown_process_all_is_told(void **state)
{
	struct record record = cut(UNWIND_END_NO_PROCESS, 1, 3);

	(void)state;
	record.frames[1] = 0x401000;
	record.frames[2] = 0x7f0000010000;
	record.frames[3] = 0x401234; // as the first
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 2);
	assert_int_equal(told[0].key.pid, 12);
	assert_int_equal(told[0].key.exec_id, 3);
	assert_int_equal(told[0].key.start_boottime_ns, 77);
	assert_int_equal(told[0].place, 0x401000);
	assert_int_equal(told[1].place, 0x7f000000ffff);
}

static void code_that_was_not_mapped_a_moment_ago_is_told(void **state)
{
	struct record record = cut(UNWIND_END_NO_MAPPING, 0, 1);

	(void)state;
	record.frames[0] = 0x7f0000010000;
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 1);
	assert_int_equal(told[0].place, 0x7f0000010000);
	// A walk that came through a known file tells of no unknown one.
	record.frames[0] = place(4, 0x111);
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 1);
}

static void whole_stacks_tell_nothing(void **state)
{
	struct record record = cut(UNWIND_END_ENTRY, 0, 2);

	(void)state;
	record.frames[0] = place(4, 0x111);
	notes_take(&notes, NULL, &record.head);
	record = cut(UNWIND_END_NO_PROCESS, 2, 0);
	notes_take(&notes, NULL, &record.head);
	record = cut(UNWIND_END_NO_PAGE, 2, 0);
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 0);
}

static void the_same_is_told_once_a_second(void **state)
{
	struct record record = cut(UNWIND_END_NO_PAGE, 0, 1);

	(void)state;
	record.frames[0] = place(4, 0x111);
	for (int i = 0; i < 100; i++)
		notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 1);
	record.frames[0] = place(5, 0x111);
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 2);
	record.head.time_ns += 1100000000;
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 3);
	record = cut(UNWIND_END_NO_PROCESS, 0, 1);
	record.frames[0] = 0x401000;
	notes_take(&notes, NULL, &record.head);
	record.head.pid++;
	notes_take(&notes, NULL, &record.head);
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 5);
}

static void what_nobody_had_room_for_is_told_again(void **state)
{
	struct record record = cut(UNWIND_END_NO_PAGE, 0, 1);

	(void)state;
	record.frames[0] = place(4, 0x111);
	full = true;
	notes_take(&notes, NULL, &record.head);
	full = false;
	notes_take(&notes, NULL, &record.head);
	assert_int_equal(told_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_missing_page_is_where_the_walk_ended, set_up),
		cmocka_unit_test_setup(of_an_unknown_process_all_is_told, set_up),
		cmocka_unit_test_setup(code_that_was_not_mapped_a_moment_ago_is_told, set_up),
		cmocka_unit_test_setup(whole_stacks_tell_nothing, set_up),
		cmocka_unit_test_setup(the_same_is_told_once_a_second, set_up),
		cmocka_unit_test_setup(what_nobody_had_room_for_is_told_again, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
