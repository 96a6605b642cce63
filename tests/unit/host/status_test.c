// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/pipeline/status.h"

#include <stdio.h>
#include <string.h>

enum { STATUSES = PROFCOL_STATUS_STOPPED + 1 };

/* The shortest way to each status. */
static void bring_to(struct status *status, enum profcol_status to)
{
	static const enum profcol_status ways[STATUSES][5] = {
		[PROFCOL_STATUS_NONE] = { 0 },
		[PROFCOL_STATUS_STARTING] = { PROFCOL_STATUS_STARTING },
		[PROFCOL_STATUS_OK] = { PROFCOL_STATUS_STARTING, PROFCOL_STATUS_OK },
		[PROFCOL_STATUS_RECOVERABLE_ERROR] = { PROFCOL_STATUS_STARTING,
						       PROFCOL_STATUS_RECOVERABLE_ERROR },
		[PROFCOL_STATUS_PERMANENT_ERROR] = { PROFCOL_STATUS_STARTING,
						     PROFCOL_STATUS_PERMANENT_ERROR },
		[PROFCOL_STATUS_FATAL_ERROR] = { PROFCOL_STATUS_STARTING,
						 PROFCOL_STATUS_FATAL_ERROR },
		[PROFCOL_STATUS_STOPPING] = { PROFCOL_STATUS_STARTING, PROFCOL_STATUS_STOPPING },
		[PROFCOL_STATUS_STOPPED] = { PROFCOL_STATUS_STARTING, PROFCOL_STATUS_STOPPING,
					     PROFCOL_STATUS_STOPPED },
	};
	enum profcol_status from;

	status_init(status);
	for (size_t i = 0; i < 5 && ways[to][i]; i++)
		assert_true(status_change(status, ways[to][i], NULL, &from));
	assert_int_equal(status_get(status), to);
}

static void the_ways_are_those_of_the_collector(void **state)
{
	// From row to column: NONE STARTING OK RECOVERABLE PERMANENT FATAL STOPPING STOPPED.
	static const char *const ways[STATUSES] = {
		".x......", // NONE
		"..xxxxx.", // STARTING
		"...xxxx.", // OK
		"..x.xxx.", // RECOVERABLE_ERROR
		"......x.", // PERMANENT_ERROR
		"........", // FATAL_ERROR
		"...xxx.x", // STOPPING
		"........", // STOPPED
	};

	(void)state;
	for (int from = 0; from < STATUSES; from++) {
		for (int to = 0; to < STATUSES; to++) {
			enum profcol_status before;
			struct status status;
			bool expected = ways[from][to] == 'x';

			bring_to(&status, (enum profcol_status)from);
			if (status_change(&status, (enum profcol_status)to, NULL, &before) !=
			    expected)
				fail_msg("from %d to %d", from, to);
			assert_int_equal(before, from);
			assert_int_equal(status_get(&status), expected ? to : from);
			status_deinit(&status);
		}
	}
}

static void it_knows_since_when_and_why(void **state)
{
	char message[STATUS_MESSAGE_BYTES];
	uint64_t first_ns, second_ns;
	enum profcol_status from;
	struct status status;

	(void)state;
	bring_to(&status, PROFCOL_STATUS_OK);
	assert_true(status_change(&status, PROFCOL_STATUS_RECOVERABLE_ERROR, "the peer is away",
				  &from));
	assert_int_equal(status_read(&status, &first_ns, message),
			 PROFCOL_STATUS_RECOVERABLE_ERROR);
	assert_string_equal(message, "the peer is away");
	// Still the same trouble: since then, but by what is known now.
	assert_false(status_change(&status, PROFCOL_STATUS_RECOVERABLE_ERROR, "refused", &from));
	assert_false(status_change(&status, PROFCOL_STATUS_RECOVERABLE_ERROR, NULL, &from));
	status_read(&status, &second_ns, message);
	assert_string_equal(message, "refused");
	assert_true(first_ns == second_ns && first_ns > 0);
	assert_true(status_change(&status, PROFCOL_STATUS_OK, NULL, &from));
	status_read(&status, &second_ns, message);
	assert_string_equal(message, "");
	assert_true(second_ns >= first_ns);
	status_deinit(&status);
}

static void a_message_is_cut_between_characters(void **state)
{
	char text[STATUS_MESSAGE_BYTES + 8], message[STATUS_MESSAGE_BYTES];
	enum profcol_status from;
	struct status status;
	uint64_t since_ns;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + STATUS_MESSAGE_BYTES - 2, "\xc3\xa4\xc3\xa4\xc3\xa4", 7);
	bring_to(&status, PROFCOL_STATUS_OK);
	assert_true(status_change(&status, PROFCOL_STATUS_PERMANENT_ERROR, text, &from));
	status_read(&status, &since_ns, message);
	assert_int_equal(strlen(message), STATUS_MESSAGE_BYTES - 2);
	assert_int_equal(message[STATUS_MESSAGE_BYTES - 3], 'x');
	status_deinit(&status);
}

static void a_start_settles_unless_the_component_has_spoken(void **state)
{
	struct status status;

	(void)state;
	bring_to(&status, PROFCOL_STATUS_STARTING);
	status_settle(&status);
	assert_int_equal(status_get(&status), PROFCOL_STATUS_OK);
	status_deinit(&status);
	bring_to(&status, PROFCOL_STATUS_PERMANENT_ERROR);
	status_settle(&status);
	assert_int_equal(status_get(&status), PROFCOL_STATUS_PERMANENT_ERROR);
	status_deinit(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ways_are_those_of_the_collector),
		cmocka_unit_test(it_knows_since_when_and_why),
		cmocka_unit_test(a_message_is_cut_between_characters),
		cmocka_unit_test(a_start_settles_unless_the_component_has_spoken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
