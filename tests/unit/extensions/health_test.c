// SPDX-License-Identifier: Apache-2.0
/* The rules by which many statuses are one, and Go's way to print times. */
#include "extensions/health_check/go_text.h"
#include "extensions/health_check/health.h"
#include "extensions/health_check/query.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE        PROFCOL_STATUS_NONE
#define STARTING    PROFCOL_STATUS_STARTING
#define OK          PROFCOL_STATUS_OK
#define RECOVERABLE PROFCOL_STATUS_RECOVERABLE_ERROR
#define PERMANENT   PROFCOL_STATUS_PERMANENT_ERROR
#define FATAL       PROFCOL_STATUS_FATAL_ERROR
#define STOPPING    PROFCOL_STATUS_STOPPING
#define STOPPED     PROFCOL_STATUS_STOPPED

enum { PARTS_MAX = 4 };

static const struct component_health_config counts_none = { .recovery_duration_ns = 100 };
static const struct component_health_config counts_recoverable = { .include_recoverable_errors =
									   true,
								   .recovery_duration_ns = 100 };
static const struct component_health_config counts_all = { .include_permanent_errors = true,
							   .include_recoverable_errors = true,
							   .recovery_duration_ns = 100 };

static void the_most_important_status_stands_for_all(void **state)
{
	/* The parts changed at 1, 2, 3, ...; what comes out of them, since when. */
	static const struct {
		enum profcol_status parts[PARTS_MAX];
		size_t count;
		enum profcol_status joined;
		uint64_t since;
	} cases[] = {
		{ { OK, OK, OK }, 3, OK, 3 },
		{ { OK, RECOVERABLE, OK, RECOVERABLE },
		  4,
		  RECOVERABLE,
		  2 }, // the first is the cause
		{ { RECOVERABLE, PERMANENT, OK }, 3, PERMANENT, 2 },
		{ { PERMANENT, PERMANENT }, 2, PERMANENT, 1 },
		{ { PERMANENT, FATAL, STARTING }, 3, FATAL, 2 },
		{ { OK, STARTING, PERMANENT }, 3, STARTING, 2 },
		{ { NONE, OK }, 2, STARTING, 2 },
		{ { NONE, NONE }, 2, NONE, 2 },
		{ { STARTING, OK, STARTING }, 3, STARTING, 3 },
		{ { OK, STOPPING, STOPPED }, 3, STOPPING, 2 },
		{ { STOPPED, OK }, 2, STOPPING, 2 },
		{ { STOPPED, STOPPED }, 2, STOPPED, 2 },
		{ { RECOVERABLE, STOPPED }, 2, STOPPING, 2 },
		{ { OK }, 0, OK, 77 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct health parts[PARTS_MAX] = { 0 }, joined;

		for (size_t j = 0; j < PARTS_MAX; j++)
			parts[j] = (struct health){ cases[i].parts[j], j + 1, "" };
		joined = health_join(parts, cases[i].count, &counts_none, 77);
		if (joined.status != cases[i].joined || joined.since_unix_ns != cases[i].since)
			fail_msg("case %zu: %s since %d", i, health_status_name(joined.status),
				 (int)joined.since_unix_ns);
	}
}

static void errors_that_count_go_before_others(void **state)
{
	const struct health parts[] = { { PERMANENT, 1, "given up" }, { RECOVERABLE, 2, "away" } };

	(void)state;
	assert_string_equal(health_join(parts, 2, &counts_none, 0).message, "given up");
	assert_string_equal(health_join(parts, 2, &counts_all, 0).message, "given up");
	assert_string_equal(health_join(parts, 2, &counts_recoverable, 0).message, "away");
}

static void the_code_says_what_is_wished_to_be_counted(void **state)
{
	static const struct {
		enum profcol_status status;
		int none, recoverable, all; /* codes */
	} cases[] = {
		{ NONE, 503, 503, 503 },      { STARTING, 503, 503, 503 },
		{ OK, 200, 200, 200 },        { RECOVERABLE, 200, 500, 500 },
		{ PERMANENT, 200, 200, 500 }, { FATAL, 500, 500, 500 },
		{ STOPPING, 503, 503, 503 },  { STOPPED, 503, 503, 503 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct health health = { cases[i].status, 1000, "" };

		assert_int_equal(health_code(&health, health_is_good(&health, &counts_none, 1100)),
				 cases[i].none);
		assert_int_equal(
			health_code(&health, health_is_good(&health, &counts_recoverable, 1100)),
			cases[i].recoverable);
		assert_int_equal(health_code(&health, health_is_good(&health, &counts_all, 1100)),
				 cases[i].all);
	}
}

static void trouble_counts_when_it_lasts(void **state)
{
	const struct health trouble = { RECOVERABLE, 1000, "" };

	(void)state;
	assert_true(health_is_good(&trouble, &counts_all, 1000));
	assert_true(health_is_good(&trouble, &counts_all, 1099));
	assert_false(health_is_good(&trouble, &counts_all, 1100));
	assert_true(health_is_good(&trouble, &counts_all, 1)); // the clock was set back
}

static void durations_are_as_go_prints_them(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1\302\265s" },
		{ 1100, "1.1\302\265s" },
		{ 2200000, "2.2ms" },
		{ 999999999, "999.999999ms" },
		{ 1000000000, "1s" },
		{ 3300000000, "3.3s" },
		{ 60000000000, "1m0s" },
		{ 245000000001, "4m5.000000001s" },
		{ 18367001000000, "5h6m7.001s" },
		{ 3600000000000, "1h0m0s" },
		{ 360000000000000, "100h0m0s" },
		{ UINT64_MAX, "5124095h34m33.709551615s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[GO_TEXT_MAX];

		go_text_duration(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void times_are_as_go_prints_them(void **state)
{
	static const struct {
		const char *zone;
		uint64_t unix_ns;
		const char *text;
	} cases[] = {
		{ "UTC", 1705627000000000000, "2024-01-19T01:16:40Z" },
		{ "UTC", 1705627000570394000, "2024-01-19T01:16:40.570394Z" },
		{ "UTC", 1705627000000000001, "2024-01-19T01:16:40.000000001Z" },
		{ "XXX+8", 1705627000500000000, "2024-01-18T17:16:40.5-08:00" },
		{ "XXX-5:30", 1705627000000000000, "2024-01-19T06:46:40+05:30" },
		{ "UTC", 0, "0001-01-01T00:00:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[GO_TEXT_MAX];

		setenv("TZ", cases[i].zone, 1);
		tzset();
		go_text_time(cases[i].unix_ns, text);
		assert_string_equal(text, cases[i].text);
	}
	unsetenv("TZ");
	tzset();
}

static void queries_are_taken_apart(void **state)
{
	static const struct {
		const char *query, *pipeline; /* NULL: not there */
		bool verbose;
	} cases[] = {
		{ "", NULL, false },
		{ "verbose", NULL, true },
		{ "verbose=", NULL, true },
		{ "verbose=true", NULL, true },
		{ "verbose=false", NULL, false },
		{ "verbose=0", NULL, false },
		{ "verbosely", NULL, false },
		{ "&&x&verbose&", NULL, true },
		{ "pipeline=profiles%2Fraw&verbose", "profiles/raw", true },
		{ "pipeline=profiles/raw", "profiles/raw", false },
		{ "pipeline=a+b", "a b", false },
		{ "pipeline", "", false },
		{ "pipeline=%zz", NULL, false },
		{ "pipeline=%0", NULL, false },
		{ "pipeline=%00", NULL, false },
		{ "pipeline=a&pipeline=b", "a", false },
		{ "pipeline=a=b", "a=b", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *pipeline = NULL;
		bool malformed =
			query_value(cases[i].query, "pipeline", &pipeline) == QUERY_MALFORMED;

		assert_int_equal(malformed, strstr(cases[i].query, "=%") != NULL);
		assert_int_equal(!pipeline, !cases[i].pipeline);
		if (pipeline)
			assert_string_equal(pipeline, cases[i].pipeline);
		assert_int_equal(query_is_on(cases[i].query, "verbose"), cases[i].verbose);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_important_status_stands_for_all),
		cmocka_unit_test(errors_that_count_go_before_others),
		cmocka_unit_test(the_code_says_what_is_wished_to_be_counted),
		cmocka_unit_test(trouble_counts_when_it_lasts),
		cmocka_unit_test(durations_are_as_go_prints_them),
		cmocka_unit_test(times_are_as_go_prints_them),
		cmocka_unit_test(queries_are_taken_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
