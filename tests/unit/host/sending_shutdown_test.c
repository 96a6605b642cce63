// SPDX-License-Identifier: Apache-2.0
/* The end, from every state; and queues that outlive it. run_end() checks all sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

#include <limits.h>
#include <string.h>

/*
 * The shutdown ends although something would go on for ever, or for an hour: whoever waited for
 * that would never come back, so no clock has to tell. So short a time is enough of it.
 */
static void end_in_time(struct run *run)
{
	run_end_within(run, PROFCOL_SECOND / 2);
}

/* ---- in memory ---- */

static void an_idle_queue_ends_at_once(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, "");
	run_end(&run); // in an hour, if it waited
	assert_true(peer.stopped);
}

static void what_is_queued_is_delivered(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {num_consumers: 1}");
	run_push_all(&run, 200, 10);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 2000);
}

static void a_request_between_attempts_gets_one_more(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT);
	run_push_all(&run, 3, 10);
	AWAIT(PEER_GET(attempts) == 3);
	PEER_SET(code, 0);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 30);
	assert_int_equal(peer.attempts, 6);
}

static void and_only_one(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT ", sending_queue: {num_consumers: 2}");
	run_push_all(&run, 10, 10);
	AWAIT(PEER_GET(attempts) == 2);
	run_end(&run);
	assert_int_equal(run_lost(&run, "shutdown"), 100);
	assert_int_equal(peer.attempts, 2 + 10);
}

static void a_throttled_request_does_not_hold_it_up(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_THROTTLED;
	peer.delay_ns = PEER_PATIENCE_NS;
	run_start(&run, PATIENT);
	run_push_all(&run, 1, 10);
	AWAIT(PEER_GET(attempts) == 1);
	run_end(&run);
	assert_int_equal(run_lost(&run, "shutdown"), 10);
}

static void a_peer_that_hangs_does_not_hold_it_up(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {num_consumers: 3}");
	run_push_all(&run, 10, 10);
	AWAIT(PEER_GET(inside) == 3);
	end_in_time(&run);
	assert_int_equal(run_lost(&run, "shutdown"), 100);
	assert_int_equal(peer.attempts, 3);
}

static void a_deadline_that_is_over_is_kept_as_well(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0");
	run_push_all(&run, 10, 10);
	AWAIT(PEER_GET(inside) > 0);
	run_end_within(&run, 0);
	assert_int_equal(run_lost(&run, "shutdown"), 100);
}

static void what_is_refused_at_the_end_counts_by_its_cause(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT);
	run_push_all(&run, 1, 10);
	AWAIT(PEER_GET(attempts) == 1);
	PEER_SET(cause, "permission_denied");
	PEER_SET(code, PROFCOL_REJECTED);
	run_end(&run);
	assert_int_equal(run_lost(&run, "permission_denied"), 10);
}

static void requests_that_wait_for_others_do_not_hold_it_up(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, sending_queue: {batch: {flush_timeout: 1h}}");
	run_push_all(&run, 5, 10);
	end_in_time(&run);
	assert_int_equal(run_lost(&run, "shutdown"), 50);
}

static void without_a_start_there_is_an_end_too(void **state)
{
	struct run run;

	(void)state;
	store.open = true; // in use: the start fails
	run_start_expecting(&run, "sending_queue: {storage: store}",
			    "exporter 'peer': sending_queue::storage: in use");
	assert_true(peer.stopped);
	store.open = false;
}

/* ---- in a storage ---- */

#define STORED "sending_queue: {storage: store, num_consumers: 2}"

static void a_storage_is_emptied(void **state)
{
	struct run run;

	(void)state;
	run_start(&run, STORED);
	run_push_all(&run, 20, 10);
	AWAIT(PEER_GET(taken) == 20);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 200);
	assert_int_equal(store.count, 0);
	assert_false(store.open);
}

static void what_is_not_delivered_stays_and_is_sent_by_the_next_run(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT ", " STORED);
	run_push_all(&run, 20, 10);
	AWAIT(PEER_GET(attempts) == 2);
	run_expect_sum(&run);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_STORED], 200);
	assert_int_equal(run.balance.totals[PROFCOL_LOST], 0);
	assert_int_equal(store.count, 20);
	// The last attempts, but not one for each record.
	assert_true(peer.attempts <= 2 + 4);

	peer.code = 0;
	run_start(&run, STORED);
	AWAIT(PEER_GET(taken) == 20);
	run_push_all(&run, 1, 5);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_TAKEN], 205);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 205);
	assert_int_equal(run.balance.totals[PROFCOL_STORED], 0);
	assert_int_equal(store.count, 0);
}

static void a_hanging_peer_leaves_all_in_the_storage(void **state)
{
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "timeout: 0, " STORED);
	run_push_all(&run, 5, 10);
	AWAIT(PEER_GET(inside) == 2);
	end_in_time(&run);
	assert_int_equal(run.balance.totals[PROFCOL_STORED], 50);
	assert_int_equal(store.count, 5);
}

static void a_full_storage_refuses(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct run run;

	(void)state;
	peer.hangs = true;
	store.max_records = 3;
	run_start(&run, STORED);
	run_push_all(&run, 3, 10);
	error = run_push(&run, 4);
	assert_string_equal(profcol_error_message(error), "peer: queue on disk is full");
	run_expect_sum(&run);
	PEER_SET(hangs, false);
	run_end(&run);
	assert_int_equal(run_lost(&run, "queue_full"), 4);
}

static void a_queue_size_bounds_a_storage_too(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct run run;

	(void)state;
	peer.hangs = true;
	run_start(&run, "sending_queue: {storage: store, queue_size: 2}");
	run_push_all(&run, 2, 10);
	error = run_push(&run, 4);
	assert_string_equal(profcol_error_message(error), "peer: sending queue is full");
	PEER_SET(hangs, false);
	run_end(&run);
}

static void a_storage_that_fails_for_a_while_is_asked_again(void **state)
{
	struct run run;

	(void)state;
	store.fails = 2;
	run_start(&run, STORED);
	run_push_all(&run, 1, 10);
	AWAIT(PEER_GET(taken) == 1);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 10);
	assert_int_equal(store.fails, 0);
}

static void a_storage_that_fails_does_not_hold_up_the_end(void **state)
{
	struct run run;

	(void)state;
	store.fails = UINT_MAX;
	run_start(&run, STORED);
	run_push_all(&run, 3, 10);
	run_end(&run); // in an hour, if it waited
	assert_int_equal(run.balance.totals[PROFCOL_STORED], 30);
	assert_int_equal(store.count, 3);
}

static void the_capacity_of_a_storage_is_shown(void **state)
{
	struct run run;

	(void)state;
	store.capacity_bytes = 123456;
	run_start(&run, STORED);
	assert_int_equal(run_metric(&run, "exporter_queue_capacity_bytes", ""), 123456);
	run_end(&run);
}

static void requests_are_no_longer_than_a_storage_takes(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	store.max_record_bytes = 2000;
	run_start(&run, STORED);
	run_push_all(&run, 1, 1000);
	run_end(&run);
	assert_true(store.count > 1);
	for (size_t i = 0; i < store.count; i++)
		assert_in_range(store.records[i].length, 1, 2000);
}

static void damaged_records_are_counted(void **state)
{
	struct run run;

	(void)state;
	peer.code = PROFCOL_UNAVAILABLE;
	run_start(&run, PATIENT ", " STORED);
	run_push_all(&run, 5, 10);
	run_end(&run);
	assert_int_equal(store.count, 5);
	peer.code = 0;
	store.records[2].damaged = true;  // found when it is read
	store.damage.damaged_records = 2; // found at the start
	store.damage.damaged_samples = 7;
	run_start(&run, STORED);
	AWAIT(PEER_GET(taken) == 4);
	AWAIT(run_metric(&run, "exporter_queue_damaged_records", "") == 3);
	run_end(&run);
	assert_int_equal(run.balance.totals[PROFCOL_TAKEN], 57);
	assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 40);
	assert_int_equal(run_lost(&run, "storage_damaged"), 17);
}

static void damage_of_which_nothing_can_be_read_is_said_once(void **state)
{
	struct run run;

	(void)state;
	store.damage.damaged_records = 2;
	run_start(&run, STORED);
	assert_int_equal(count_lines(run_log(&run), "2 queued requests are damaged on disk"), 1);
	assert_int_equal(count_lines(run_log(&run), "of 0 samples"), 0);
	assert_int_equal(run_metric(&run, "exporter_queue_damaged_records", ""), 2);
	run_end(&run);
}

static void a_record_that_is_half_delivered_does_not_come_twice(void **state)
{
	struct run run;

	(void)state;
	// Halves; the first is taken, then nothing more.
	peer.max_bytes = 4000;
	run_start(&run, PATIENT ", timeout: 0, sending_queue: {storage: store, num_consumers: 1}");
	pthread_mutex_lock(&peer.lock);
	peer.hangs = true;
	pthread_mutex_unlock(&peer.lock);
	run_push_all(&run, 1, 1000);
	AWAIT(PEER_GET(inside) == 1);
	pthread_mutex_lock(&peer.lock);
	peer.hangs = false;
	peer.takes_left = 1;
	pthread_cond_broadcast(&peer.changed);
	pthread_mutex_unlock(&peer.lock);
	AWAIT(PEER_GET(taken) == 1);
	AWAIT(count_lines(run_log(&run), "Will retry") == 1);
	run_end(&run);
	assert_true(run.balance.totals[PROFCOL_EXPORTED] > 0);
	assert_true(run.balance.totals[PROFCOL_STORED] > 0);
	peer.takes_left = 0;
	peer.max_bytes = 0;
	peer.code = 0;
	run_start(&run, STORED);
	AWAIT(PEER_GET(samples) == 1000);
	run_end(&run);
	assert_int_equal(peer.samples, 1000);
	assert_int_equal(store.count, 0);
}

static void a_record_that_can_be_replaced_in_part_is_counted_once(void **state)
{
	struct run run;

	(void)state;
	peer.max_bytes = 1000;
	peer.takes_left = 1;
	store.max_records = 2; // room for one piece of several
	run_start(&run, PATIENT ", sending_queue: {storage: store, num_consumers: 1}");
	run_push_all(&run, 1, 1000);
	AWAIT(count_lines(run_log(&run), "Will retry") == 1);
	run_end(&run);
	assert_true(run.balance.totals[PROFCOL_EXPORTED] > 0);
	assert_int_equal(run.balance.totals[PROFCOL_STORED],
			 1000 - run.balance.totals[PROFCOL_EXPORTED]);
	assert_int_equal(store.count, 2);
}

static void joined_records_come_from_a_storage_too(void **state)
{
	struct run run;

	(void)state;
	run_start(&run,
		  "sending_queue: {storage: store, batch: {min_size: 30, flush_timeout: 1h}}");
	run_push_all(&run, 6, 10);
	AWAIT(PEER_GET(samples) == 60);
	run_end(&run);
	assert_int_equal(peer.taken, 2);
	assert_int_equal(store.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sending_setup, sending_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_idle_queue_ends_at_once),
		TEST(what_is_queued_is_delivered),
		TEST(a_request_between_attempts_gets_one_more),
		TEST(and_only_one),
		TEST(a_throttled_request_does_not_hold_it_up),
		TEST(a_peer_that_hangs_does_not_hold_it_up),
		TEST(a_deadline_that_is_over_is_kept_as_well),
		TEST(what_is_refused_at_the_end_counts_by_its_cause),
		TEST(requests_that_wait_for_others_do_not_hold_it_up),
		TEST(without_a_start_there_is_an_end_too),
		TEST(a_storage_is_emptied),
		TEST(what_is_not_delivered_stays_and_is_sent_by_the_next_run),
		TEST(a_hanging_peer_leaves_all_in_the_storage),
		TEST(a_full_storage_refuses),
		TEST(a_queue_size_bounds_a_storage_too),
		TEST(a_storage_that_fails_for_a_while_is_asked_again),
		TEST(a_storage_that_fails_does_not_hold_up_the_end),
		TEST(the_capacity_of_a_storage_is_shown),
		TEST(requests_are_no_longer_than_a_storage_takes),
		TEST(damaged_records_are_counted),
		TEST(damage_of_which_nothing_can_be_read_is_said_once),
		TEST(a_record_that_can_be_replaced_in_part_is_counted_once),
		TEST(a_record_that_is_half_delivered_does_not_come_twice),
		TEST(joined_records_come_from_a_storage_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
