// SPDX-License-Identifier: Apache-2.0
/* Batches are sent with the first, the second, ... allocation failing: linked with --wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);

static atomic_int until_failure; /* allocations before one fails; below 1: none does */

static bool fails_now(void)
{
	return atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *pointer, size_t bytes)
{
	return fails_now() ? NULL : __real_realloc(pointer, bytes);
}

/*
 * One batch that is split, joined, cut and taken, with one failure on the way. run_end()
 * checks that each sample is booked once. False when no allocation was left to fail.
 */
static bool send_with_failure(const char *options, int allocations)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = fake_batch(200);
	const struct profcol_host *upstream;
	bool failed;
	struct run run;

	sending_setup(NULL);
	peer.max_bytes = 900;
	run_start(&run, options);
	upstream = &run.receiver->host;
	upstream->account(upstream, PROFCOL_TAKEN, NULL, 200);
	atomic_store(&until_failure, allocations);
	profcol_error_destroy(upstream->consume_next(upstream, profcol_batch_ref(batch)));
	AWAIT(run_metric(&run, "exporter_queue_size", "") == 0);
	failed = atomic_load(&until_failure) <= 0;
	atomic_store(&until_failure, 0);
	run_end(&run);
	if (!failed)
		assert_int_equal(run.balance.totals[PROFCOL_EXPORTED], 200);
	sending_teardown(NULL);
	return failed;
}

static void every_allocation_may_fail(void **state)
{
	static const char *const options[] = {
		"max_request_bytes: 1024",
		"max_request_bytes: 2048, sending_queue: {enabled: false}",
		"sending_queue: {batch: {min_size: 60, flush_timeout: 5ms}}",
		"sending_queue: {storage: store}",
		"sending_queue: {wait_for_result: true}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int allocations = 1;

		// Steps of one at first, where it all happens once.
		while (send_with_failure(options[i], allocations))
			allocations += 1 + allocations / 40;
		assert_true(allocations > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
