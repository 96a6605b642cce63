// SPDX-License-Identifier: Apache-2.0
/* What clients of the exporter web ask for: sums of all forms are equal, and nonsense is refused.
 */
#include "fake_host.h"
#include "web_batches.h"

#include "base/base.h"
#include "exporters/web/query.h"
#include "flame/flame.h"
#include "profile/profile.h"

#include <profcol/options.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t start = UINT64_C(1795687200) * 1000000000;

static struct parameters parse(const char *query)
{
	struct parameters parameters;

	assert_no_error(parameters_init(&parameters, query, start));
	return parameters;
}

static void refuse(const char *query, const char *text)
{
	struct parameters parameters;
	struct profcol_error *error = parameters_init(&parameters, query, start);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in: %s", text, profcol_error_message(error));
	profcol_error_destroy(error);
}

/* ---- words ---- */

static void times_are_taken_in_three_ways(void **state)
{
	struct parameters parameters = parse("from=now-5m&to=now");

	(void)state;
	assert_int_equal(parameters.now.range.from_ns, start - 300 * PROFCOL_SECOND);
	assert_int_equal(parameters.now.range.to_ns, start);
	assert_true(parameters.has_range);
	parameters_deinit(&parameters);
	parameters = parse("from=1795687200000&to=1795687260000&seconds=7");
	assert_int_equal(parameters.now.range.from_ns, start);
	assert_int_equal(parameters.now.range.to_ns, start + 60 * PROFCOL_SECOND);
	assert_int_equal(parameters.seconds, 7);
	parameters_deinit(&parameters);
	parameters = parse("");
	assert_false(parameters.has_range);
	assert_false(parameters.has_base);
	assert_int_equal(parameters.now.range.to_ns, UINT64_MAX);
	parameters_deinit(&parameters);
}

static void a_base_is_as_the_rest_where_it_says_nothing(void **state)
{
	struct parameters parameters = parse("from=now-5m&base_where=sample.link_index+%3D%3D+0");

	(void)state;
	assert_true(parameters.has_base);
	assert_int_equal(parameters.base.range.from_ns, start - 300 * PROFCOL_SECOND);
	assert_int_equal(parameters.base.conditions.count, 1);
	assert_int_equal(parameters.now.conditions.count, 0);
	parameters_deinit(&parameters);
	parameters = parse("base_from=now-10m&base_to=now-5m&where=");
	assert_true(parameters.has_base);
	assert_int_equal(parameters.base.range.to_ns, start - 300 * PROFCOL_SECOND);
	parameters_deinit(&parameters);
}

static void nonsense_is_refused_in_words(void **state)
{
	char many[4096] = "";

	(void)state;
	refuse("from=yesterday", "is no time");
	refuse("from=now-5", "is no time");
	refuse("from=now-5y", "is no time");
	refuse("from=-1", "is no time");
	refuse("from=now&to=now-5m", "the range is empty");
	refuse("base_from=now&base_to=now-1m", "the range is empty");
	refuse("seconds=0", "seconds: a number from 1 to");
	refuse("seconds=99999", "seconds: a number from 1 to");
	refuse("nodes=0", "nodes: ");
	refuse("nodes=x", "nodes: ");
	refuse("where=%zz", "'%' that is none");
	refuse("where=%00", "'%' that is none");
	refuse("where=resource.attributes", "where: 1:");
	refuse("where=1+%3D%3D+1", "where: ");
	refuse("pid=1+or+true", "is no number");
	for (int i = 0; i < 17; i++)
		strcat(many, "pid=1&");
	refuse(many, "at most 16 conditions");
}

/* ---- sums ---- */

static struct history *fill(uint64_t seed, struct profcol_batch **all_ret)
{
	struct web_chance chance = { seed };
	struct history_settings settings = { PROFCOL_HOUR, 64 << 20 };
	struct history *history = history_create(&settings);
	struct profcol_batch *batches[20];

	assert_non_null(history);
	for (uint32_t i = 0; i < 20; i++) {
		batches[i] = web_batch(&chance, i, start - (i + 1) * 10 * PROFCOL_SECOND);
		assert_no_error(history_add(history, batches[i], NULL, start));
	}
	assert_no_error(profile_merge(batches, 20, all_ret));
	for (uint32_t i = 0; i < 20; i++)
		profcol_batch_unref(batches[i]);
	return history;
}

static int64_t flame_sum_of(const struct history *history, const char *query)
{
	struct parameters parameters = parse(query);
	struct query_result result, base;
	struct flame *flame = NULL;
	int64_t sum;

	assert_no_error(query_flame(history, &parameters, UINT64_MAX, &flame, &result, &base));
	sum = flame_total(flame, FLAME_NOW);
	flame_destroy(flame);
	parameters_deinit(&parameters);
	return sum;
}

static struct profcol_batch *batch_of(const struct history *history, const char *query)
{
	struct parameters parameters = parse(query);
	struct profcol_batch *batch = NULL;
	struct query_result result;

	assert_no_error(query_batch(history, &parameters.now, UINT64_MAX, &batch, &result));
	parameters_deinit(&parameters);
	return batch;
}

/* Of a pprof file, by the way that others read it. */
static int64_t pprof_sum(const struct profcol_batch *batch, const char *type)
{
	const struct pprof_encode_options options = { .compression_level = 1 };
	const struct pprof_decode_limits limits = { 64 << 20, 64 << 20, NULL };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *decoded = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	assert_no_error(pprof_encode(batch, &options, &bytes, &length));
	assert_no_error(pprof_decode(bytes, length, &limits, &decoded));
	return web_batch_sum(decoded, type);
}

static int64_t folded_sum(const struct profcol_batch *batch, const char *type)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;
	int64_t sum = 0;

	assert_no_error(folded_encode(batch, &bytes, &length));
	for (char *line = (char *)bytes; line < (char *)bytes + length;) {
		char *end = strchr(line, '\n');

		*end = '\0';
		if (!strncmp(line, type, strlen(type)))
			sum += strtoll(strrchr(line, ' ') + 1, NULL, 10);
		line = end + 1;
	}
	return sum;
}

static void all_forms_have_the_sums_of_what_went_in(void **state)
{
	static const char thread_of_101[] =
		"&pid=101"
		"&where=profilesample.attributes%5B%22thread.name%22%5D+%3D%3D+%22thread+2%22";
	static const char *const conditions[] = {
		"",
		"&where=resource.attributes%5B%22service.name%22%5D+%3D%3D+%22shop%22",
		"&where=frame.function+%3D%3D+%22function_7%22",
		"&where=frame.type+%3D%3D+%22kernel%22+and+not+(stack.depth+%3E+6)",
		"&service=shop",
		"&pid=100",
		thread_of_101,
		"&service=none",
	};

	(void)state;
	for (uint64_t seed = 1; seed < 3; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *given = NULL;
		struct history *history = fill(seed * 31, &given);

		assert_int_equal(flame_sum_of(history, "type=cpu"), web_batch_sum(given, "cpu"));
		for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
			static const char *const types[] = { "samples", "cpu" };
			PROFCOL_CLEANUP_BATCH struct profcol_batch *batch =
				batch_of(history, conditions[i]);

			for (size_t type = 0; type < 2; type++) {
				char query[512];
				int64_t sum = web_batch_sum(batch, types[type]);

				snprintf(query, sizeof(query), "type=%s%s", types[type],
					 conditions[i]);
				assert_int_equal(flame_sum_of(history, query), sum);
				strcat(query, "&group=service.name");
				assert_int_equal(flame_sum_of(history, query), sum);
				if (!sum)
					continue;
				assert_int_equal(pprof_sum(batch, types[type]), sum);
				assert_int_equal(folded_sum(batch, types[type]), sum);
			}
		}
		// The words of short are those of long.
		assert_int_equal(flame_sum_of(history, conditions[1]),
				 flame_sum_of(history, conditions[4]));
		history_destroy(history);
	}
}

static void conditions_part_what_is_there(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *given = NULL;
	struct history *history = fill(4242, &given);
	int64_t yes = flame_sum_of(history, "where=frame.function+%3D%3D+%22function_3%22");
	int64_t no = flame_sum_of(history, "where=not+frame.function+%3D%3D+%22function_3%22");

	(void)state;
	assert_true(yes > 0 && no > 0);
	assert_int_equal(yes + no, flame_sum_of(history, ""));
	history_destroy(history);
}

static void names_are_no_conditions(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *given = NULL;
	struct history *history = fill(17, &given);

	(void)state;
	// <script>alert("1")</script>
	assert_true(flame_sum_of(history, "service=%3Cscript%3Ealert(%221%22)%3C%2Fscript%3E") > 0);
	assert_int_equal(flame_sum_of(history, "service=%22+or+true+or+%22"), 0);
	assert_int_equal(flame_sum_of(history, "service=%5C"), 0);
	history_destroy(history);
}

static void what_a_condition_cannot_tell_is_counted(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *given = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct history *history = fill(18, &given);
	struct parameters parameters = parse("where=1+%2F+profilesample.link_index+%3D%3D+1");
	struct query_result result;

	(void)state;
	assert_no_error(query_batch(history, &parameters.now, UINT64_MAX, &batch, &result));
	assert_true(result.failures > 0);
	assert_true(result.message[0]);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 0);
	parameters_deinit(&parameters);
	history_destroy(history);
}

static void a_query_ends_with_its_time(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *given = NULL;
	struct history *history = fill(19, &given);
	static const char *const queries[] = { "", "pid=100" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct parameters parameters = parse(queries[i]);
		struct query_result result, base;
		struct flame *flame = NULL;
		struct profcol_error *error =
			query_flame(history, &parameters, 1, &flame, &result, &base);

		assert_non_null(error);
		assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
		profcol_error_destroy(error);
		parameters_deinit(&parameters);
	}
	history_destroy(history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_taken_in_three_ways),
		cmocka_unit_test(a_base_is_as_the_rest_where_it_says_nothing),
		cmocka_unit_test(nonsense_is_refused_in_words),
		cmocka_unit_test(all_forms_have_the_sums_of_what_went_in),
		cmocka_unit_test(conditions_part_what_is_there),
		cmocka_unit_test(names_are_no_conditions),
		cmocka_unit_test(what_a_condition_cannot_tell_is_counted),
		cmocka_unit_test(a_query_ends_with_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
