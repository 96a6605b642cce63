// SPDX-License-Identifier: Apache-2.0
/* The host's options of an exporter with `send`: defaults, bounds, what belongs together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

#include "host/sending/backoff.h"
#include "host/sending/sending.h"

#include <string.h>

static void the_defaults_are_the_collectors(void **state)
{
	const struct sending_config *config;
	struct run run;

	(void)state;
	run_start(&run, "");
	config = sending_config_of(&fake_peer_exporter, run.exporter->configuration->options);
	assert_int_equal(config->timeout_ns, 5 * PROFCOL_SECOND);
	assert_true(config->retry.enabled);
	assert_int_equal(config->retry.initial_interval_ns, 5 * PROFCOL_SECOND);
	assert_int_equal(config->retry.max_interval_ns, 30 * PROFCOL_SECOND);
	assert_int_equal(config->retry.max_elapsed_ns, 5 * PROFCOL_MINUTE);
	assert_true(config->retry.multiplier == 1.5);
	assert_true(config->retry.randomization_factor == 0.5);
	assert_true(config->queue.enabled);
	assert_int_equal(config->queue.num_consumers, 10);
	assert_int_equal(config->queue.queue_size, 0);
	assert_int_equal(config->queue.sizer, SENDING_SIZER_UNSET);
	assert_false(config->queue.block_on_overflow);
	assert_false(config->queue.wait_for_result);
	assert_string_equal(config->queue.storage, "");
	assert_false(config->queue.batch_named);
	assert_int_equal(config->queue.batch.flush_timeout_ns, 200 * PROFCOL_MILLISECOND);
	assert_int_equal(config->queue.batch.min_size, 8192);
	assert_int_equal(config->max_request_bytes, 4 << 20);
	assert_false(config->attribute_references);
	assert_int_equal(run_metric(&run, "exporter_queue_capacity", ""), 1000);
	assert_int_equal(run_metric(&run, "exporter_queue_capacity_bytes", ""), 64 << 20);
	run_end(&run);
}

static void what_the_collector_takes_is_taken(void **state)
{
	static const char *const options[] = {
		"sending_queue: ",
		"sending_queue: {batch: }",
		"sending_queue: {batch: {}, sizer: items, queue_size: 10000}",
		"sending_queue: {enabled: false, wait_for_result: true, storage: store}",
		"sending_queue: {storage: store}",
		"sending_queue: {storage: ' store '}",
		"sending_queue: {queue_size: 5000, num_consumers: 20, sizer: requests}",
		"sending_queue: {batch: {partition: {metadata_keys: [a, b]}}}",
		"retry_on_failure: {max_elapsed_time: 0}",
		"retry_on_failure: {enabled: false, max_elapsed_time: 1s}",
		"timeout: 0",
		"max_request_bytes: 16MiB",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct profcol_error *error = run_check(options[i], "store");

		if (error)
			fail_msg("%s: %s", options[i], profcol_error_message(error));
	}
}

static void mistakes_are_located(void **state)
{
	static const struct {
		const char *options, *extensions, *message;
	} rows[] = {
		{ "sending_queue: {qeue_size: 1}", "",
		  "test.yaml:2:36: exporters::peer::sending_queue: has invalid keys: qeue_size; "
		  "did "
		  "you mean 'queue_size'?" },
		{ "sending_queues: {}", "",
		  "test.yaml:2:20: exporters::peer: has invalid keys: sending_queues; did you mean "
		  "'sending_queue'?" },
		{ "timeout: -1s", "",
		  "test.yaml:2:29: exporters::peer::timeout: must be at least 0s, got -1s" },
		{ "sending_queue: {num_consumers: 0}", "",
		  "test.yaml:2:51: exporters::peer::sending_queue::num_consumers: must be between "
		  "1 "
		  "and 1000, got 0" },
		{ "sending_queue: {queue_size: 0}", "",
		  "test.yaml:2:48: exporters::peer::sending_queue::queue_size: must be at least 1, "
		  "got 0" },
		{ "sending_queue: {sizer: byte}", "",
		  "test.yaml:2:43: exporters::peer::sending_queue::sizer: unknown value \"byte\" "
		  "(valid values: [requests items bytes]); did you mean 'bytes'?" },
		{ "retry_on_failure: {randomization_factor: 1.5}", "",
		  "test.yaml:2:61: exporters::peer::retry_on_failure::randomization_factor: must "
		  "be "
		  "between 0 and 1, got 1.5" },
		{ "retry_on_failure: {max_elapsed_time: 3s}", "",
		  "test.yaml:2:57: exporters::peer: retry_on_failure::max_elapsed_time: must not "
		  "be "
		  "less than initial_interval; raise it, or write 0 to try for ever" },
		{ "retry_on_failure: {max_elapsed_time: 10s}", "",
		  "test.yaml:2:57: exporters::peer: retry_on_failure::max_elapsed_time: must not "
		  "be "
		  "less than max_interval; raise it, or write 0 to try for ever" },
		{ "sending_queue: {batch: {sizer: requests}}", "",
		  "test.yaml:2:51: exporters::peer: sending_queue::batch::sizer: must be items or "
		  "bytes, not requests" },
		{ "sending_queue: {batch: {max_size: 100}}", "",
		  "test.yaml:2:54: exporters::peer: sending_queue::batch::max_size: must not be "
		  "less than min_size (8192); raise it, or write 0 for no limit" },
		{ "sending_queue: {sizer: items, queue_size: 10, batch: {min_size: 11}}", "",
		  "test.yaml:2:84: exporters::peer: sending_queue::batch::min_size: must not be "
		  "more than queue_size (10), or it is never reached" },
		{ "sending_queue: {batch: {flush_timeout: 0}}", "",
		  "test.yaml:2:59: exporters::peer::sending_queue::batch::flush_timeout: must be "
		  "between 1ns and 1h, got 0s" },
		{ "sending_queue: {batch: {partition: {metadata_keys: [a, A]}}}", "",
		  "test.yaml:2:71: exporters::peer: "
		  "sending_queue::batch::partition::metadata_keys: duplicate entry \"A\" (case "
		  "does not matter); remove it" },
		{ "sending_queue: {wait_for_result: true, storage: store}", "store",
		  "test.yaml:2:53: exporters::peer: sending_queue::wait_for_result: cannot be "
		  "combined with storage: what is on disk needs no caller to wait; remove one of "
		  "them" },
		{ "sending_queue: {storage: stor}", "",
		  "test.yaml:2:45: exporters::peer::sending_queue::storage: references extension "
		  "\"stor\" which is not configured; add it under 'extensions', and to "
		  "service::extensions" },
		{ "sending_queue: {storage: store}", "",
		  "test.yaml:2:45: exporters::peer::sending_queue::storage: references extension "
		  "\"store\" which is not enabled; add it to service::extensions" },
		{ "sending_queue: {storage: plain}", "plain",
		  "test.yaml:2:45: exporters::peer::sending_queue::storage: extension \"plain\" "
		  "cannot keep a queue; name a storage, as file_storage" },
		{ "max_request_bytes: 100", "",
		  "test.yaml:2:39: exporters::peer::max_request_bytes: must be between 1KiB and "
		  "2147483647, got 100" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error =
			run_check(rows[i].options, rows[i].extensions);

		if (!error)
			fail_msg("%s: no error", rows[i].options);
		assert_string_equal(profcol_error_message(error), rows[i].message);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	}
}

static void what_has_no_effect_is_said(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {partition: {metadata_keys: [a, b]}}}");
	assert_int_equal(
		count_lines(run_log(&run), "sending_queue::batch::partition has no effect"), 1);
	run_end(&run);
}

static void waits_grow_as_the_collectors_do(void **state)
{
	const struct sending_retry_config config = {
		.initial_interval_ns = 5 * PROFCOL_SECOND,
		.max_interval_ns = 30 * PROFCOL_SECOND,
		.multiplier = 1.5,
		.randomization_factor = 0.5,
	};
	static const double intervals[] = { 5, 7.5, 11.25, 16.875, 25.3125, 30, 30, 30 };
	double least = 2, most = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct backoff backoff;

		backoff_init(&backoff, &config, seed * 0x9e3779b97f4a7c15);
		for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
			double ratio = (double)backoff_next(&backoff) / 1e9 / intervals[i];

			assert_true(ratio >= 0.5 && ratio <= 1.5);
			least = ratio < least ? ratio : least;
			most = ratio > most ? ratio : most;
		}
	}
	// All of the spread is used.
	assert_true(least < 0.51 && most > 1.49);
}

static void waits_do_not_overflow(void **state)
{
	const struct sending_retry_config config = {
		.initial_interval_ns = UINT64_MAX,
		.max_interval_ns = UINT64_MAX,
		.multiplier = 1e308,
		.randomization_factor = 1,
	};
	struct backoff backoff;

	(void)state;
	backoff_init(&backoff, &config, 0);
	for (int i = 0; i < 100; i++) {
		uint64_t wait_ns = backoff_next(&backoff);

		assert_true(wait_ns >= BACKOFF_LEAST_NS && wait_ns <= UINT64_C(1) << 62);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sending_setup, sending_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_defaults_are_the_collectors),
		TEST(what_the_collector_takes_is_taken),
		TEST(mistakes_are_located),
		TEST(what_has_no_effect_is_said),
		TEST(waits_grow_as_the_collectors_do),
		TEST(waits_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
