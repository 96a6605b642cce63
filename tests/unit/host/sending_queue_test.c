// SPDX-License-Identifier: Apache-2.0
/* The queue in memory: its bounds, what happens when it is full, threads, joined requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

#include "host/sending/ledger.h"
#include "tests/unit/own_threads.h"

#include <malloc.h>
#include <string.h>

/* Under a sanitizer its allocator knows; the weak name is NULL without one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

void __real_ledger_show_queue(struct ledger *ledger, const struct queue_load *load);
void __wrap_ledger_show_queue(struct ledger *ledger, const struct queue_load *load);

static atomic_bool is_slow_to_show; /* a queue that is not empty */

void __wrap_ledger_show_queue(struct ledger *ledger, const struct queue_load *load)
{
	if (load->requests && atomic_load(&is_slow_to_show)) {
		PEER_SET(hangs, false);
		usleep(100000);
	}
	__real_ledger_show_queue(ledger, load);
}

/* Takes @error, which has to be one that was counted. */
static void expect_refusal(struct profcol_error *error, enum profcol_code code, const char *message)
{
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), message);
	assert_int_equal(profcol_error_code(error), code);
	assert_true(profcol_error_is_counted(error));
	profcol_error_destroy(error);
}

static size_t allocated_bytes(void)
{
	struct mallinfo2 info;

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

/* ---- bounds ---- */

static void a_full_queue_refuses(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {queue_size: 3, num_consumers: 1}");
	run_push_all(&run, 3, 10);
	AWAIT(PEER_GET(inside) == 1);
	// The one that is on its way still counts.
	expect_refusal(run_push(&run, 4), PROFCOL_UNAVAILABLE, "peer: sending queue is full");
	expect_refusal(run_push(&run, 4), PROFCOL_UNAVAILABLE, "peer: sending queue is full");
	assert_int_equal(run_metric(&run, "exporter_queue_size", ""), 3);
	assert_int_equal(run_metric(&run, "exporter_queue_capacity", ""), 3);
	assert_int_equal(run_metric(&run, "exporter_enqueue_failed_profile_samples", ""), 8);
	assert_int_equal(count_lines(run_log(&run), "Exporting failed. Rejecting data. "
						    "rejected_samples=4: sending queue is full"),
			 1);
	assert_int_equal(count_lines(run_log(&run), "Rejecting data"), 1);
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	AWAIT(PEER_GET(taken) == 3);
	AWAIT(run_metric(&run, "exporter_queue_size", "") == 0);
	run_push_all(&run, 1, 5);
	run_end(&run);
	assert_int_equal(run_lost(&run, "queue_full"), 8);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 35);
}

static void what_is_shown_last_is_what_was_seen_last(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "");
	atomic_store(&is_slow_to_show, true);
	run_push_all(&run, 1, 10);
	AWAIT(PEER_GET(taken) == 1);
	AWAIT(run_metric(&run, "exporter_queue_size", "") == 0);
	atomic_store(&is_slow_to_show, false);
	run_end(&run);
}

static void a_queue_can_be_bound_in_samples(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {queue_size: 100, sizer: items}");
	run_push_all(&run, 1, 60);
	expect_refusal(run_push(&run, 101), PROFCOL_REJECTED,
		       "peer: element size too large: 101 samples, the sending queue holds 100; "
		       "raise sending_queue::queue_size");
	expect_refusal(run_push(&run, 41), PROFCOL_UNAVAILABLE, "peer: sending queue is full");
	run_push_all(&run, 1, 40);
	assert_int_equal(run_metric(&run, "exporter_queue_size", ""), 100);
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(run_lost(&run, "too_large"), 101);
	assert_int_equal(run_lost(&run, "queue_full"), 41);
}

static void a_queue_can_be_bound_in_bytes(void **state)
{
	unsigned int taken = 0;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {queue_size: 20000, sizer: bytes}");
	for (struct profcol_error *error = NULL; !error; taken++) {
		error = run_push(&run, 100);
		assert_true(run_metric(&run, "exporter_queue_size", "") <= 20000);
		if (error)
			expect_refusal(error, PROFCOL_UNAVAILABLE, "peer: sending queue is full");
		if (error)
			break;
	}
	assert_true(taken > 5 && taken < 200);
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(run_lost(&run, "queue_full"), 100);
}

/* One sample, and a string: what is large need not be work. */
static struct profcol_batch *batch_of_a_megabyte(void)
{
	size_t length = 1 << 20;
	CLEANUP_FREE char *text = malloc(length);

	memset(text, 'x', length);
	return one_sample_of("name", text, length);
}

static void without_a_sizer_memory_is_bound_at_64_mib(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_of_a_megabyte();
	const struct profcol_host *upstream;
	const size_t bound = 64 << 20;
	size_t before, peak = 0;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: ");
	upstream = &run.receiver->host;
	before = allocated_bytes();
	while (!run_metric(&run, "exporter_enqueue_failed_profile_samples", "")) {
		upstream->account(upstream, PROFCOL_TAKEN, NULL, 1);
		profcol_error_destroy(upstream->consume_next(upstream, profcol_batch_ref(batch)));
		if (allocated_bytes() - before > peak)
			peak = allocated_bytes() - before;
	}
	assert_true((size_t)run_metric(&run, "exporter_queue_bytes", "") <= bound);
	assert_true((size_t)run_metric(&run, "exporter_queue_bytes", "") > bound - (4 << 20));
	assert_true(peak <= bound + bound / 10);
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	run_end(&run);
}

static void a_batch_of_more_requests_than_fit_goes_in_as_far_as_there_is_room(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, max_request_bytes: 1024, sending_queue: {queue_size: 5}");
	expect_refusal(run_push(&run, 1000), PROFCOL_UNAVAILABLE, "peer: sending queue is full");
	assert_int_equal(run_metric(&run, "exporter_queue_size", ""), 5);
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(peer.taken, 5);
	assert_int_equal(run_lost(&run, "queue_full"), 1000 - peer.samples);
}

/* ---- callers that wait ---- */

struct pusher {
	struct run *run;
	uint32_t samples;
	pthread_t thread;
	atomic_bool returned;
	struct profcol_error *error;
};

static void *push_one(void *argument)
{
	struct pusher *pusher = argument;

	pusher->error = run_push(pusher->run, pusher->samples);
	atomic_store(&pusher->returned, true);
	return NULL;
}

static void pusher_start(struct pusher *pusher, struct run *run, uint32_t samples)
{
	*pusher = (struct pusher){ .run = run, .samples = samples };
	assert_int_equal(pthread_create(&pusher->thread, NULL, push_one, pusher), 0);
}

/* The error is the caller's. */
static struct profcol_error *pusher_join(struct pusher *pusher)
{
	pthread_join(pusher->thread, NULL);
	return pusher->error;
}

static void a_caller_may_wait_for_room(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {queue_size: 1, block_on_overflow: true}");
	run_push_all(&run, 1, 10);
	pusher_start(&pusher, &run, 7);
	AWAIT(run_metric(&run, "exporter_accepted_profile_samples", "") == 17);
	assert_int_equal(run_metric(&run, "exporter_queue_size", ""), 1);
	assert_false(atomic_load(&pusher.returned));
	PEER_SET(hangs, false);
	assert_null(pusher_join(&pusher));
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 17);
}

static void a_caller_that_waits_for_room_does_not_hold_up_the_shutdown(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {queue_size: 1, block_on_overflow: true}");
	run_push_all(&run, 1, 10);
	pusher_start(&pusher, &run, 7);
	AWAIT(run_metric(&run, "exporter_accepted_profile_samples", "") == 17);
	instance_expect_shutdown(run.exporter, clock_monotonic_ns() + PEER_PATIENCE_NS);
	expect_refusal(pusher_join(&pusher), PROFCOL_UNAVAILABLE, "peer: sending queue is full");
	run_end_within(&run, PROFCOL_SECOND);
	assert_int_equal(run_lost(&run, "queue_full"), 7);
	assert_int_equal(run_lost(&run, "shutdown"), 10);
}

static void a_caller_may_wait_for_the_result(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, max_request_bytes: 1024, "
			"sending_queue: {wait_for_result: true}");
	pusher_start(&pusher, &run, 500);
	AWAIT(PEER_GET(inside) > 1);
	assert_false(atomic_load(&pusher.returned));
	PEER_SET(hangs, false);
	assert_null(pusher_join(&pusher));
	assert_int_equal(PEER_GET(samples), 500);
	PEER_SET(code, PROFCOL_REJECTED);
	expect_refusal(run_push(&run, 3), PROFCOL_REJECTED, "peer: the peer says no");
	PEER_SET(code, 0);
	run_end(&run);
	assert_int_equal(run_lost(&run, "rejected"), 3);
}

static void a_caller_that_waits_for_a_result_does_not_hold_up_the_shutdown(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {wait_for_result: true}");
	pusher_start(&pusher, &run, 5);
	AWAIT(PEER_GET(inside) == 1);
	instance_expect_shutdown(run.exporter, clock_monotonic_ns() + PEER_PATIENCE_NS);
	expect_refusal(pusher_join(&pusher), PROFCOL_SHUTDOWN,
		       "peer: shutting down, the result is not waited for");
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 5);
}

static void without_a_queue_the_caller_sends(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "max_request_bytes: 1024, sending_queue: {enabled: false}, "
			"retry_on_failure: {initial_interval: 10ms, max_interval: 10ms}");
	run_push_all(&run, 1, 500);
	assert_int_equal(peer.samples, 500);
	peer.code = PROFCOL_UNAVAILABLE;
	peer.fails = 2;
	run_push_all(&run, 1, 5);
	assert_int_equal(peer.samples, 505);
	peer.code = PROFCOL_REJECTED;
	expect_refusal(run_push(&run, 3), PROFCOL_REJECTED, "peer: the peer says no");
	run_end(&run);
	assert_int_equal(run_lost(&run, "rejected"), 3);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 505);
}

static void without_a_queue_a_peer_that_hangs_does_not_hold_up_the_shutdown(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {enabled: false}");
	pusher_start(&pusher, &run, 5);
	AWAIT(PEER_GET(inside) == 1);
	// As a receiver does that is shut down before the exporter.
	instance_expect_shutdown(run.exporter, clock_monotonic_ns() + PROFCOL_SECOND);
	expect_refusal(pusher_join(&pusher), PROFCOL_SHUTDOWN,
		       "peer: not delivered before the shutdown");
	run_end_within(&run, PROFCOL_SECOND);
	assert_int_equal(run_lost(&run, "shutdown"), 5);
	assert_int_equal(peer.attempts, 1);
}

static void without_a_queue_there_is_time_for_the_rest(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {enabled: false}");
	instance_expect_shutdown(run.exporter, clock_monotonic_ns() + PEER_PATIENCE_NS);
	run_push_all(&run, 2, 5);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 10);
}

static void without_a_queue_a_caller_does_not_hold_up_the_shutdown(void **state)
{
	struct pusher pusher;
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT ", sending_queue: {enabled: false}");
	pusher_start(&pusher, &run, 5);
	AWAIT(count_lines(run_log(&run), "Will retry") == 1);
	instance_expect_shutdown(run.exporter, clock_monotonic_ns() + PEER_PATIENCE_NS);
	expect_refusal(pusher_join(&pusher), PROFCOL_SHUTDOWN,
		       "peer: not delivered before the shutdown");
	run_end(&run);
	assert_int_equal(run_lost(&run, "shutdown"), 5);
	assert_int_equal(peer.attempts, 2);
}

/* ---- threads ---- */

static void threads_come_with_the_work(void **state)
{
	size_t before = settled_threads();
	struct run run;

	(void)state;
	run_start(&run, "timeout: 0, sending_queue: {num_consumers: 4}");
	assert_int_equal(own_threads(NULL), before);
	for (unsigned int i = 1; i <= 20; i++) {
		run_push_all(&run, 1, 1);
		AWAIT(PEER_GET(taken) == i);
		AWAIT(run_metric(&run, "exporter_queue_size", "") == 0);
	}
	assert_true(own_threads(NULL) <= before + 2);
	PEER_SET(hangs, true);
	run_push_all(&run, 12, 1);
	AWAIT(PEER_GET(inside) == 4);
	assert_int_equal(own_threads(NULL), before + 4);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(peer.most_inside, 4);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 32);
	assert_int_equal(settled_threads(), before);
}

static void *push_many(void *argument)
{
	for (unsigned int i = 0; i < 50; i++)
		profcol_error_destroy(run_push(argument, 3));
	return NULL;
}

static void many_callers_and_consumers(void **state)
{
	pthread_t threads[4];
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	peer.fails = 20;
	run_start(&run, "sending_queue: {queue_size: 20}, "
			"retry_on_failure: {initial_interval: 10ms, max_interval: 10ms}");
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, push_many, &run);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	AWAIT(run_metric(&run, "exporter_queue_size", "") == 0);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_TAKEN], 600);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED] + run_lost(&run, "queue_full"), 600);
}

/* ---- batching ---- */

static void requests_are_joined(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {min_size: 30, flush_timeout: 1h}}");
	run_push_all(&run, 6, 10);
	AWAIT(PEER_GET(taken) == 2);
	// The queue hears of it somewhat later than the peer.
	AWAIT(run_metric(&run, "exporter_queue_profile_samples", "") == 0);
	assert_int_equal(peer.requests[0].samples, 30);
	assert_int_equal(peer.requests[1].samples, 30);
	// What is too little waits, but not past the shutdown.
	run_push_all(&run, 2, 10);
	assert_int_equal(run_metric(&run, "exporter_queue_profile_samples", ""), 20);
	run_end(&run);
	assert_int_equal(peer.taken, 3);
	assert_int_equal(peer.requests[2].samples, 20);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 80);
}

static void joining_does_not_wait_for_ever(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {flush_timeout: 10ms}}");
	run_push_all(&run, 1, 10);
	AWAIT(PEER_GET(taken) == 1);
	run_end(&run);
}

static void joined_requests_have_a_most(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {min_size: 5, max_size: 8}}");
	run_push_all(&run, 1, 50);
	AWAIT(PEER_GET(samples) == 50);
	for (size_t i = 0; i < peer.taken; i++)
		assert_true(peer.requests[i].samples <= 8);
	assert_true(peer.taken <= 14);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 50);
}

static void joined_requests_can_be_bound_in_bytes(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {sizer: bytes, min_size: 3000, max_size: 3000, "
			"flush_timeout: 50ms}}");
	run_push_all(&run, 50, 20);
	AWAIT(PEER_GET(samples) == 1000);
	for (size_t i = 0; i < peer.taken; i++)
		assert_true(peer.requests[i].length <= 3000);
	assert_true(peer.taken < 25);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 1000);
}

static void a_section_for_batches_can_be_switched_off(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "sending_queue: {batch: {enabled: false, flush_timeout: 1h}}");
	run_push_all(&run, 2, 10);
	AWAIT(PEER_GET(taken) == 2);
	run_end(&run);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sending_setup, sending_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_full_queue_refuses),
		TEST(what_is_shown_last_is_what_was_seen_last),
		TEST(a_queue_can_be_bound_in_samples),
		TEST(a_queue_can_be_bound_in_bytes),
		TEST(without_a_sizer_memory_is_bound_at_64_mib),
		TEST(a_batch_of_more_requests_than_fit_goes_in_as_far_as_there_is_room),
		TEST(a_caller_may_wait_for_room),
		TEST(a_caller_that_waits_for_room_does_not_hold_up_the_shutdown),
		TEST(a_caller_may_wait_for_the_result),
		TEST(a_caller_that_waits_for_a_result_does_not_hold_up_the_shutdown),
		TEST(without_a_queue_the_caller_sends),
		TEST(without_a_queue_a_peer_that_hangs_does_not_hold_up_the_shutdown),
		TEST(without_a_queue_there_is_time_for_the_rest),
		TEST(without_a_queue_a_caller_does_not_hold_up_the_shutdown),
		TEST(threads_come_with_the_work),
		TEST(many_callers_and_consumers),
		TEST(requests_are_joined),
		TEST(joining_does_not_wait_for_ever),
		TEST(joined_requests_have_a_most),
		TEST(joined_requests_can_be_bound_in_bytes),
		TEST(a_section_for_batches_can_be_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
