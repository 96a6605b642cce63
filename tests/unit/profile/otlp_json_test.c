// SPDX-License-Identifier: Apache-2.0
/* OTLP/JSON: what is written is read as the same request, and what is no OTLP/JSON is named. */
#include "random_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200 };

static struct profcol_batch *decode(const uint8_t *bytes, size_t length)
{
	const struct otlp_decode_limits limits = { .max_memory = 256 << 20 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct profcol_batch *batch = NULL;

	error = otlp_decode(bytes, length, &limits, &batch);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

static void what_was_written_is_read_again(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		struct profcol_batch *batch = random_batch(seed), *again;
		CLEANUP_FREE uint8_t *bytes = NULL, *read = NULL, *twice = NULL;
		CLEANUP_FREE char *text = NULL;
		size_t length, text_length, read_length, twice_length;

		assert_null(otlp_encode(batch, NULL, &bytes, &length));
		assert_null(otlp_to_json(bytes, length, &text, &text_length));
		assert_null(otlp_from_json(text, text_length, NULL, &read, &read_length));
		// Lengths are written longer there, so the batches are compared.
		again = decode(read, read_length);
		assert_null(otlp_encode(again, NULL, &twice, &twice_length));
		assert_int_equal(twice_length, length);
		assert_memory_equal(twice, bytes, length);
		profcol_batch_unref(again);
		profcol_batch_unref(batch);
	}
}

static void assert_refused(const char *text, const char *why)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	error = otlp_from_json(text, strlen(text), NULL, &bytes, &length);
	if (!error)
		fail_msg("'%s' is taken", text);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), why))
		fail_msg("'%s': '%s'", text, profcol_error_message(error));
}

static void what_is_no_request_is_named(void **state)
{
	(void)state;
	assert_refused("", "no JSON");
	assert_refused("[]", "it has to be an object");
	assert_refused("7", "it has to be an object");
	assert_refused("{", "cut short");
	assert_refused("{}{}", "no JSON");
	assert_refused("{\"resourceProfiles\":{}}", "resourceProfiles has to be a list");
	assert_refused("{\"dictionary\":[{}]}", "dictionary is no list");
	assert_refused("{\"dictionary\":{\"stringTable\":[1]}}", "stringTable is no number");
	assert_refused("{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[4294967296]}]}}",
		       "locationIndices has to be a whole number of 32 bits");
	assert_refused("{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[1.5]}]}}",
		       "locationIndices has to be a whole number");
	assert_refused("{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":\"-1\"}]}}",
		       "memoryStart has to be a whole number");
}

static void unknown_fields_and_nulls_are_skipped(void **state)
{
	static const char text[] =
		"{\"new\":[{\"a\":[1,{}]},\"b\"],\"resourceProfiles\":null,\"dictionary\":{"
		"\"stringTable\":[\"\",\"a\"],\"later\":{\"x\":{}}}}";
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	(void)state;
	assert_null(otlp_from_json(text, sizeof(text) - 1, NULL, &bytes, &length));
	profcol_batch_unref(decode(bytes, length));
}

static void answers_are_read(void **state)
{
	static const char said[] = "{\"partialSuccess\":{\"rejectedProfiles\":\"2\","
				   "\"errorMessage\":\"no\"}}",
			  status[] =
				  "{\"code\":3,\"message\":\"no\",\"details\":[{\"@type\":\"a\"}]}";
	CLEANUP_FREE uint8_t *response = NULL, *failure = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	size_t length;

	(void)state;
	assert_null(otlp_response_from_json(said, sizeof(said) - 1, &response, &length));
	// A message's length has four bytes.
	assert_int_equal(length, 11);
	assert_memory_equal(response, "\x0a\x86\x80\x80\x00\x08\x02\x12\x02no", 11);
	assert_null(otlp_status_from_json(status, sizeof(status) - 1, &failure, &length));
	assert_int_equal(length, 6);
	assert_memory_equal(failure, "\x08\x03\x12\x02no", 6);
	error = otlp_status_from_json("[]", 2, &failure, &length);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
}

static void nesting_has_an_end(void **state)
{
	enum { DEPTH = 100000 };
	static const char level[] = "{\"arrayValue\":{\"values\":[";
	char *text = malloc(DEPTH * sizeof(level) + 256), *to = text;

	(void)state;
	assert_non_null(text);
	to = stpcpy(to, "{\"dictionary\":{\"attributeTable\":[{\"value\":");
	for (int i = 0; i < DEPTH; i++)
		to = stpcpy(to, level);
	assert_refused(text, "nested too deep");
	free(text);
}

static void memory_is_taken_of_the_share(void **state)
{
	struct memory_budget budget = { .most = 1 };
	struct memory_share other = { .budget = &budget }, share = { .budget = &budget };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	(void)state;
	assert_true(memory_share_take(&other, 1));
	error = otlp_from_json("{}", 2, &share, &bytes, &length);
	assert_non_null(error);
	assert_true(profcol_error_is_retryable(error));
	memory_share_give(&other);
	memory_share_give(&share);
	assert_int_equal(budget.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(what_is_no_request_is_named),
		cmocka_unit_test(unknown_fields_and_nulls_are_skipped),
		cmocka_unit_test(answers_are_read),
		cmocka_unit_test(nesting_has_an_end),
		cmocka_unit_test(memory_is_taken_of_the_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
