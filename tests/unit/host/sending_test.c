// SPDX-License-Identifier: Apache-2.0
/* What becomes of one request: attempts, waits, answers of the peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

#include "host/sending/parcel.h"
#include "profile/profile.h"

#include <stdio.h>
#include <string.h>

#define FAST "retry_on_failure: {initial_interval: 10ms, max_interval: 20ms}"

static void a_batch_arrives_as_one_request(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = fake_batch(7);
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length = 0;
	struct run run;

	(void)state;
	assert_null(otlp_encode(batch, NULL, &bytes, &length));
	run_start(&run, "");
	run_push_all(&run, 1, 7);
	run_end(&run);
	assert_int_equal(peer.taken, 1);
	assert_int_equal(peer.requests[0].samples, 7);
	assert_int_equal(peer.requests[0].length, length);
	assert_memory_equal(peer.last, bytes, length);
	assert_int_equal(peer.profiles, 1);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 7);
}

static void a_batch_without_samples_is_nothing(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "");
	run_push_all(&run, 3, 0);
	run_end(&run);
	assert_int_equal(peer.attempts, 0);
}

static void what_fails_for_now_is_tried_again(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	peer.fails = 3;
	run_start(&run, FAST);
	run_push_all(&run, 1, 5);
	AWAIT(PEER_GET(taken) == 1);
	assert_int_equal(run_metric(&run, "exporter_retries", ""), 3);
	AWAIT(count_lines(run_log(&run), "working again") == 1);
	// One line for the failures, however many there were.
	assert_int_equal(count_lines(run_log(&run),
				     "Exporting failed. Will retry the request after "
				     "interval. interval="),
			 1);
	assert_non_null(strstr(run_log(&run), ": the peer says no"));
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 5);
	assert_int_equal(peer.attempts, 4);
}

static void a_long_outage_is_one_line(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, "retry_on_failure: {initial_interval: 0, max_interval: 0}");
	run_push_all(&run, 10, 5);
	AWAIT(PEER_GET(attempts) > 50);
	assert_int_equal(count_lines(run_log(&run), "Exporting failed"), 1);
	assert_int_equal(count_lines(run_log(&run), "working again"), 0);
	PEER_SET(code, 0);
	AWAIT(PEER_GET(taken) == 10);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 50);
}

static void another_reason_is_said_at_once(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, "retry_on_failure: {initial_interval: 0, max_interval: 0}");
	run_push_all(&run, 1, 5);
	AWAIT(PEER_GET(attempts) > 3);
	PEER_SET(reason, "connection refused by port 4711");
	AWAIT(count_lines(run_log(&run), "connection refused") == 1);
	PEER_SET(reason, "connection refused by port 4712");
	for (size_t until = PEER_GET(attempts) + 3; PEER_GET(attempts) < until;)
		usleep(1000);
	assert_int_equal(count_lines(run_log(&run), "connection refused"), 1);
	for (char text[] = "reason a"; text[7] <= 'z'; text[7]++) {
		size_t until = PEER_GET(attempts) + 2;

		PEER_SET(reason, text);
		AWAIT(PEER_GET(attempts) >= until);
		PEER_SET(reason, NULL);
	}
	// However inventive the peer is.
	assert_int_equal(count_lines(run_log(&run), "Will retry"), 8);
	PEER_SET(code, 0);
	run_end(&run);
}

static void a_throttled_peer_is_given_its_time(void **state)
{
	struct run run;
	uint64_t began_ns;

	(void)state;
	peer.code = PROFCOL_THROTTLED;
	peer.fails = 1;
	peer.delay_ns = 150 * PROFCOL_MILLISECOND;
	run_start(&run, FAST);
	began_ns = clock_monotonic_ns();
	run_push_all(&run, 1, 1);
	AWAIT(PEER_GET(taken) == 1);
	assert_true(peer.requests[0].at_ns - began_ns >= peer.delay_ns);
	run_end(&run);
}

static void what_is_refused_for_good_is_dropped(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_REJECTED;
	peer.fails = 1;
	peer.cause = "invalid_argument";
	run_start(&run, FAST);
	run_push_all(&run, 1, 4);
	AWAIT(PEER_GET(attempts) == 1);
	AWAIT(run_metric(&run, "exporter_dropped_profile_samples", "cause=invalid_argument") == 4);
	run_push_all(&run, 1, 3);
	AWAIT(PEER_GET(taken) == 1);
	assert_non_null(strstr(run_log(&run), "\terror\tpeer\tExporting failed. Dropping data. "
					      "dropped_samples=4 cause=invalid_argument: the peer "
					      "says no\n"));
	run_end(&run);
	assert_int_equal(run_lost(&run, "invalid_argument"), 4);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 3);
}

static void an_error_without_a_cause_counts_by_its_code(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNSUPPORTED;
	run_start(&run, FAST);
	run_push_all(&run, 2, 4);
	run_end(&run);
	assert_int_equal(run_lost(&run, "unsupported"), 8);
}

static void without_retries_the_first_failure_is_the_last(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, "retry_on_failure: {enabled: false}");
	run_push_all(&run, 1, 4);
	AWAIT(run_metric(&run, "exporter_send_failed_profile_samples", "") == 4);
	assert_non_null(strstr(run_log(&run), "try enabling retry_on_failure"));
	run_end(&run);
	assert_int_equal(run_lost(&run, "unavailable"), 4);
	assert_int_equal(peer.attempts, 1);
}

static void retries_end(void **state)
{
	unsigned int pushed = 0;
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, "retry_on_failure: {initial_interval: 10ms, max_interval: 20ms, "
			"max_elapsed_time: 1s}");
	// A machine that stands still lets a request have one attempt; then it is another one.
	do {
		run_push_all(&run, 1, 4);
		pushed++;
		AWAIT(run_metric(&run, "exporter_send_failed_profile_samples", "") == 4 * pushed);
	} while (PEER_GET(attempts) == pushed);
	assert_non_null(strstr(run_log(&run), "cause=retries_exhausted: no more retries left"));
	run_end(&run);
	assert_int_equal(run_lost(&run, "retries_exhausted"), 4 * pushed);
}

static void an_attempt_has_a_deadline(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 20ms, " FAST);
	run_push_all(&run, 1, 4);
	AWAIT(PEER_GET(attempts) >= 2);
	PEER_SET(hangs, false);
	AWAIT(PEER_GET(taken) == 1);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 4);
}

static void a_part_that_the_peer_rejects_is_lost(void **state)
{
	struct run run;

	(void)state;
	peer.rejects = 3;
	peer.remark = "too old";
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 4, 10);
	AWAIT(PEER_GET(taken) == 4);
	AWAIT(run_metric(&run, "exporter_sent_requests", "") == 4);
	// Said once, not with each answer.
	assert_int_equal(count_lines(run_log(&run), "Partial success response. dropped_samples=3: "
						    "too old"),
			 1);
	assert_int_equal(count_lines(run_log(&run), "Partial success"), 1);
	run_end(&run);
	assert_int_equal(run_lost(&run, "rejected_by_peer"), 12);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 28);
}

static void a_peer_cannot_reject_more_than_it_was_sent(void **state)
{
	struct run run;

	(void)state;
	peer.rejects = UINT64_MAX;
	run_start(&run, "");
	run_push_all(&run, 1, 10);
	run_end(&run);
	assert_int_equal(run_lost(&run, "rejected_by_peer"), 10);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 0);
}

/* ---- sizes ---- */

static void large_batches_are_split_before_they_are_sent(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "max_request_bytes: 1024");
	run_push_all(&run, 1, 1000);
	run_end(&run);
	assert_true(peer.taken > 5);
	for (size_t i = 0; i < peer.taken; i++)
		assert_true(peer.requests[i].length <= 1024);
	assert_int_equal(peer.samples, 1000);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 1000);
}

static void what_is_too_large_for_the_peer_is_cut_and_the_limit_learned(void **state)
{
	size_t attempts;
	struct run run;

	(void)state;
	peer.max_bytes = 100000;
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 1, 20000);
	AWAIT(PEER_GET(samples) == 20000);
	assert_true(peer.attempts - peer.taken < 10); // halves, not one by one
	assert_non_null(strstr(run_log(&run), "splitting batches into requests of"));
	attempts = peer.attempts - peer.taken;
	run_push_all(&run, 1, 20000);
	AWAIT(PEER_GET(samples) == 40000);
	assert_int_equal(peer.attempts - peer.taken, attempts); // no further refusal
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 40000);
}

static void an_odd_refusal_does_not_make_requests_small_for_ever(void **state)
{
	struct run run;

	(void)state;
	peer.max_bytes = 1500;
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 1, 1000);
	AWAIT(PEER_GET(samples) == 1000);
	PEER_SET(max_bytes, 0);
	run_push_all(&run, 1, 2000);
	AWAIT(PEER_GET(samples) == 3000);
	assert_int_equal(peer.requests[peer.taken - 1].samples, 2000);
	run_end(&run);
}

static void larger_requests_are_tried_again(void **state)
{
	struct run run;

	(void)state;
	peer.max_bytes = 100000;
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 1, 20000);
	AWAIT(PEER_GET(samples) == 20000);
	PEER_SET(max_bytes, 0);
	run_push_all(&run, 300, 1);
	AWAIT(PEER_GET(samples) == 20300);
	run_push_all(&run, 1, 20000);
	AWAIT(PEER_GET(samples) == 40300);
	assert_true(peer.requests[peer.taken - 2].length > 100000);
	run_end(&run);
}

static void a_peer_to_which_all_is_too_large_is_left_alone(void **state)
{
	struct run run;

	(void)state;
	peer.max_bytes = 10;
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 1, 20000);
	AWAIT(run_metric(&run, "exporter_dropped_profile_samples", "cause=too_large") == 20000);
	run_end(&run);
	assert_true(peer.attempts < 50);
}

/* @samples samples; with @shared_bytes the string of an attribute that all have, else of its own
 * for each. */
static struct profcol_batch *batch_with_strings(uint32_t samples, size_t shared_bytes)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	char *text = calloc(1, shared_bytes + 40);

	memset(text, 'x', shared_bytes);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder,
				    &(struct profcol_profile){ .duration_ns = UINT32_MAX });
	for (uint32_t i = 0; i < samples; i++) {
		struct profcol_sample sample = { .timestamp_count = 1 };
		uint64_t time_ns = i + 1;
		uint32_t attribute;

		if (!shared_bytes)
			snprintf(text, 40, "this is sample number %u", i);
		attribute = profcol_builder_attribute_string(builder, "name", text, strlen(text));
		sample.attributes = profcol_builder_attribute_list(builder, &attribute, 1);
		sample.timestamps_unix_ns = &time_ns;
		profcol_builder_add_sample(builder, &sample);
	}
	free(text);
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

static void what_pieces_would_repeat_is_not_multiplied(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_with_strings(2000, 200000);
	struct run run;

	(void)state;
	peer.max_bytes = 100000;
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_batch(&run, batch);
	AWAIT(run_metric(&run, "exporter_dropped_profile_samples", "cause=too_large") == 2000);
	// As a whole, not in 2000 pieces of 200 KB each.
	assert_int_equal(count_lines(run_log(&run), "dropped_samples=2000 cause=too_large"), 1);
	run_end(&run);
	assert_true(peer.attempts < 10);
}

/* Though it is larger than asked for: it is up to the peer what it makes of it. */
static void a_single_observation_is_sent_whole(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_with_strings(5, 2000);
	struct run run;

	(void)state;
	run_start(&run, "max_request_bytes: 1024");
	run_push_batch(&run, batch);
	run_end(&run);
	assert_int_equal(peer.taken, 5);
	for (size_t i = 0; i < peer.taken; i++) {
		assert_true(peer.requests[i].length > 1024);
		assert_int_equal(peer.requests[i].samples, 1);
	}
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 5);
}

/* Outside of the dictionary a string is written wherever it stands. */
static void one_long_string_of_many_resources_is_not_written_for_each(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct parcels parcels CLEANUP(parcels_deinit) = { 0 };
	const struct parcel_limits limits = { .max_bytes = 4 << 20 };
	struct profcol_resource resource = { 0 };
	size_t length = 1 << 20;
	char *text = malloc(length);
	uint32_t attribute;

	(void)state;
	memset(text, 'x', length);
	attribute = profcol_builder_attribute_string(builder, "name", text, length);
	free(text);
	resource.attributes = profcol_builder_attribute_list(builder, &attribute, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		profcol_builder_add_resource(builder, &resource);
		profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
		profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
		profcol_builder_add_sample(
			builder,
			&(struct profcol_sample){ .timestamp_count = 1, .timestamps_unix_ns = &i });
	}
	assert_null(profcol_builder_seal(builder, &batch));
	error = parcel_encode(batch, &limits, &parcels);
	assert_int_equal(profcol_error_code(error), PROFCOL_REJECTED);
	assert_int_equal(parcels.count, 0);
}

static void no_piece_has_strings_of_others(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_with_strings(1000, 0);
	struct parcels parcels CLEANUP(parcels_deinit) = { 0 };
	const struct parcel_limits limits = { .max_bytes = 4096 };

	(void)state;
	assert_null(parcel_encode(batch, &limits, &parcels));
	assert_true(parcels.count > 10);
	assert_int_equal(parcels_samples(&parcels), 1000);
	for (size_t i = 0; i < parcels.count; i++) {
		const struct parcel *parcel = &parcels.items[i];
		size_t strings = 0;

		assert_true(parcel->length <= limits.max_bytes);
		for (size_t at = 0; at + 14 <= parcel->length; at++)
			strings += !memcmp(&parcel->bytes[at], "this is sample", 14);
		assert_int_equal(strings, parcel->samples);
	}
}

static void cutting_ends_with_the_shutdown(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = fake_batch(1000);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct parcels parcels CLEANUP(parcels_deinit) = { 0 };
	atomic_bool is_stopped = true;
	const struct parcel_limits limits = { .max_bytes = 1024, .is_stopped = &is_stopped };

	(void)state;
	error = parcel_encode(batch, &limits, &parcels);
	assert_int_equal(profcol_error_code(error), PROFCOL_SHUTDOWN);
	assert_int_equal(parcels.count, 0);
}

static void a_line_counts_what_it_is_about(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_REJECTED;
	peer.reason = "reason a";
	run_start(&run, "sending_queue: {num_consumers: 1}");
	run_push_all(&run, 3, 10);
	AWAIT(run_metric(&run, "exporter_send_failed_profile_samples", "") == 30);
	PEER_SET(reason, "reason b");
	run_push_all(&run, 1, 5);
	AWAIT(run_metric(&run, "exporter_send_failed_profile_samples", "") == 35);
	assert_int_equal(count_lines(run_log(&run), "dropped_samples=5 cause=rejected: reason b"),
			 1);
	run_end(&run);
}

static void one_observation_that_is_too_large_is_lost(void **state)
{
	struct run run;

	(void)state;
	peer.max_bytes = 10;
	run_start(&run, "");
	run_push_all(&run, 1, 300);
	AWAIT(run_metric(&run, "exporter_dropped_profile_samples", "cause=too_large") == 300);
	run_end(&run);
	assert_int_equal(run_lost(&run, "too_large"), 300);
	assert_int_equal(peer.taken, 0);
	// Not once for each observation.
	assert_true(peer.attempts < 50);
}

static void references_reach_the_encoder(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch =
		one_sample_of("service.name", "shop", 4);
	const struct otlp_encode_options options = { .attribute_references = true };
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length = 0;
	struct run run;

	(void)state;
	assert_null(otlp_encode(batch, &options, &bytes, &length));
	run_start(&run, "attribute_references: true");
	run_push_batch(&run, batch);
	run_end(&run);
	assert_int_equal(peer.requests[0].length, length);
	assert_memory_equal(peer.last, bytes, length);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sending_setup, sending_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_batch_arrives_as_one_request),
		TEST(a_batch_without_samples_is_nothing),
		TEST(what_fails_for_now_is_tried_again),
		TEST(a_long_outage_is_one_line),
		TEST(another_reason_is_said_at_once),
		TEST(a_throttled_peer_is_given_its_time),
		TEST(what_is_refused_for_good_is_dropped),
		TEST(an_error_without_a_cause_counts_by_its_code),
		TEST(without_retries_the_first_failure_is_the_last),
		TEST(retries_end),
		TEST(an_attempt_has_a_deadline),
		TEST(a_part_that_the_peer_rejects_is_lost),
		TEST(a_peer_cannot_reject_more_than_it_was_sent),
		TEST(large_batches_are_split_before_they_are_sent),
		TEST(what_is_too_large_for_the_peer_is_cut_and_the_limit_learned),
		TEST(an_odd_refusal_does_not_make_requests_small_for_ever),
		TEST(larger_requests_are_tried_again),
		TEST(a_peer_to_which_all_is_too_large_is_left_alone),
		TEST(what_pieces_would_repeat_is_not_multiplied),
		TEST(a_single_observation_is_sent_whole),
		TEST(one_long_string_of_many_resources_is_not_written_for_each),
		TEST(no_piece_has_strings_of_others),
		TEST(cutting_ends_with_the_shutdown),
		TEST(a_line_counts_what_it_is_about),
		TEST(one_observation_that_is_too_large_is_lost),
		TEST(references_reach_the_encoder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
