// SPDX-License-Identifier: Apache-2.0
/* Folded stacks as a batch. */
#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct profcol_batch *decode(const char *text)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = folded_decode((const uint8_t *)text, strlen(text), &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

static void refuse(const char *text, size_t length, const char *message)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = folded_decode((const uint8_t *)text, length, &batch);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), message))
		fail_msg("%s", profcol_error_message(error));
	profcol_error_destroy(error);
}

/* What is written again is what was read: the first frame is then the process, which nobody knows.
 */
static void what_is_read_can_be_written_again(void **state)
{
	static const char text[] = "all;main;a b 3\nall;main;vfs_read_[k] 4\nall;main 12\n";
	static const char sorted[] = "[unknown];all;main 12\n[unknown];all;main;a b 3\n"
				     "[unknown];all;main;vfs_read_[k] 4\n";
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = decode(text);
	CLEANUP_FREE uint8_t *bytes = NULL;
	CLEANUP_FREE char *again = NULL;
	size_t length;

	(void)state;
	assert_int_equal(profcol_batch_events(batch), 19);
	assert_null(folded_encode(batch, &bytes, &length));
	again = strndup((const char *)bytes, length);
	assert_string_equal(again, sorted);
}

static void lines_may_be_odd(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = decode("\n\r\n;; 1\na;;b  2 \r\nc 3");
	PROFCOL_CLEANUP_BATCH struct profcol_batch *empty = decode("");

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 3);
	assert_int_equal(profcol_batch_events(batch), 6);
	assert_int_equal(profcol_batch_count(empty, PROFCOL_SAMPLES), 0);
}

static void other_text_is_refused_by_its_line(void **state)
{
	(void)state;
	refuse("a;b 1\nwhat is this\n", 19, "line 2 is no folded stack: it does not end in");
	refuse("a;b -1\n", 7, "line 1 is no folded stack");
	refuse(" 1\n", 3, "line 1 is no folded stack");
	refuse("a 99999999999999999999\n", 23, "line 1 is no folded stack");
	refuse("abc", 3, "line 1 is no folded stack");
}

static void a_line_without_end_has_one(void **state)
{
	enum { FRAMES = 70000 };
	CLEANUP_FREE char *text = malloc(2 * FRAMES + 3);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < FRAMES; i++)
		memcpy(text + 2 * i, "f;", 2);
	memcpy(text + 2 * FRAMES - 1, " 1\n", 3);
	refuse(text, 2 * FRAMES + 2, "too many frames");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_can_be_written_again),
		cmocka_unit_test(lines_may_be_odd),
		cmocka_unit_test(other_text_is_refused_by_its_line),
		cmocka_unit_test(a_line_without_end_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
