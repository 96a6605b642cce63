// SPDX-License-Identifier: Apache-2.0
/* Calls that do not return: nobody waits for them for long, and they end when they can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/timed_calls.h"

#include "base/base.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { STUCK_KEY = 1, OTHER_KEY = 2, MANY = 100 };

static const uint64_t short_ns = 20000000, long_ns = 20000000000;

static const struct owner someone = { 1000, 0 }, other_one = { 1001, 0 };

static _Atomic int destroyed;

/* Reads a byte of a pipe, which comes when the test wants it. */
struct reading {
	struct timed_call call;
	int fd;
	char byte;
};

static void run_read(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;

	if (read(reading->fd, &reading->byte, 1) != 1)
		reading->byte = 0;
}

static void destroy_reading(struct timed_call *call)
{
	destroyed++;
	free(call);
}

/* What @owner asks about @what. */
static struct timed_call *make_owned(int fd, uint64_t what, struct owner owner)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	assert_non_null(reading);
	reading->call = (struct timed_call){ .run = run_read,
					     .destroy = destroy_reading,
					     .key = { TIMED_CALL_PROCESS, what, owner } };
	reading->fd = fd;
	return &reading->call;
}

static struct timed_call *make_reading(int fd, uint64_t what)
{
	return make_owned(fd, what, someone);
}

static struct timed_calls_counts counts;

static uint64_t left_behind(struct timed_calls *calls)
{
	counts = timed_calls_counts(calls);
	return counts.of[TIMED_CALL_PROCESS].left_behind;
}

static uint64_t refused(struct timed_calls *calls)
{
	counts = timed_calls_counts(calls);
	return counts.of[TIMED_CALL_PROCESS].refused;
}

struct fixture {
	struct timed_calls *calls;
	int silent[2], ready[2]; /* pipes */
};

static int set_up(void **state)
{
	static struct fixture fixture;

	destroyed = 0;
	fixture.calls = timed_calls_create();
	*state = &fixture;
	return fixture.calls && !pipe(fixture.silent) && !pipe(fixture.ready) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	timed_calls_destroy(fixture->calls);
	for (int i = 0; i < 2; i++) {
		close(fixture->ready[i]);
		if (fixture->silent[i] >= 0)
			close(fixture->silent[i]);
	}
	return 0;
}

static void wait_destroyed(int count)
{
	for (int i = 0; i < 10000 && destroyed < count; i++)
		poll(NULL, 0, 1);
	assert_int_equal(destroyed, count);
}

static void a_call_that_returns_is_the_callers_again(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < MANY; i++) {
		struct timed_call *call = make_reading(fixture->ready[0], OTHER_KEY);

		assert_int_equal(write(fixture->ready[1], "x", 1), 1);
		assert_true(timed_calls_make(fixture->calls, call, long_ns));
		assert_int_equal(((struct reading *)call)->byte, 'x');
		assert_int_equal(destroyed, i);
		call->destroy(call);
	}
	assert_int_equal(left_behind(fixture->calls), 0);
}

static void one_that_does_not_is_left_behind(void **state)
{
	struct fixture *fixture = *state;
	struct timed_calls *calls = fixture->calls;
	struct timed_call *other;

	assert_false(
		timed_calls_make(calls, make_reading(fixture->silent[0], STUCK_KEY), short_ns));
	assert_int_equal(left_behind(calls), 1);
	// The same is not asked again meanwhile, and not waited for.
	assert_false(timed_calls_make(calls, make_reading(fixture->ready[0], STUCK_KEY), long_ns));
	assert_int_equal(destroyed, 1);
	other = make_reading(fixture->ready[0], OTHER_KEY);
	assert_int_equal(write(fixture->ready[1], "xy", 2), 2);
	assert_true(timed_calls_make(calls, other, long_ns));
	other->destroy(other);
	// It returns at last: that is the end of it, and its key is free.
	assert_int_equal(write(fixture->silent[1], "z", 1), 1);
	wait_destroyed(3);
	other = make_reading(fixture->ready[0], STUCK_KEY);
	assert_true(timed_calls_make(calls, other, long_ns));
	assert_int_equal(((struct reading *)other)->byte, 'y');
	other->destroy(other);
}

static void those_left_behind_are_few_and_outlive_all(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t key = 0; key < 20; key++)
		assert_false(timed_calls_make(fixture->calls, make_reading(fixture->silent[0], key),
					      short_ns));
	assert_in_range(left_behind(fixture->calls), 2, 10);
	// Nobody waits for them at the end either; the last one of them frees all.
	timed_calls_destroy(fixture->calls);
	fixture->calls = NULL;
	close(TAKE_FD(fixture->silent[1]));
	wait_destroyed(20);
}

/* Has a call of @owner been answered? */
static bool is_answered(struct fixture *fixture, uint64_t what, struct owner owner)
{
	struct timed_call *call = make_owned(fixture->ready[0], what, owner);

	assert_int_equal(write(fixture->ready[1], "x", 1), 1);
	if (!timed_calls_make(fixture->calls, call, long_ns))
		return false;
	call->destroy(call);
	return true;
}

static void hang(struct fixture *fixture, uint64_t count, struct owner owner)
{
	for (uint64_t what = 0; what < count; what++)
		assert_false(timed_calls_make(
			fixture->calls, make_owned(fixture->silent[0], what, owner), short_ns));
}

static void one_owners_that_are_stuck_stop_none_of_others(void **state)
{
	struct fixture *fixture = *state;
	const struct owner container = { 0, 77 }, root = { 0, 0 };

	hang(fixture, 20, someone);
	assert_in_range(left_behind(fixture->calls), 2, 10);
	assert_int_equal(refused(fixture->calls) + left_behind(fixture->calls), 20);
	// Even the same, if another one asks: who hangs here may not hang there.
	assert_true(is_answered(fixture, 3, other_one));
	hang(fixture, 20, container);
	assert_true(is_answered(fixture, MANY, root));
	assert_true(is_answered(fixture, MANY, OWNER_SHARED));
	assert_true(is_answered(fixture, MANY, (struct owner){ 0, 78 }));
	// Nothing of the owner's is asked any more, before some of it returns.
	assert_false(is_answered(fixture, MANY, someone));
}

/* Whoever may call cgroups as containers are called has as many as he likes. */
static void containers_of_one_user_have_a_bound_together(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t container = 1; container <= 30; container++)
		hang(fixture, 1, (struct owner){ 1000, container });
	assert_in_range(left_behind(fixture->calls), 8, 20);
	assert_true(is_answered(fixture, MANY, someone));
	assert_true(is_answered(fixture, MANY, (struct owner){ 1001, 31 }));
}

static void run_compute(struct timed_call *call)
{
	uint64_t until_ns = clock_monotonic_ns() + 10 * short_ns;

	(void)call;
	while (clock_monotonic_ns() < until_ns)
		;
}

static void being_slow_is_not_hanging(void **state)
{
	struct fixture *fixture = *state;
	struct timed_call *call = make_reading(-1, OTHER_KEY);

	call->run = run_compute;
	assert_true(timed_calls_make(fixture->calls, call, short_ns));
	call->destroy(call);
	assert_int_equal(left_behind(fixture->calls), 0);
}

/* Asks about @what, and then about STUCK_KEY, if it may. */
static void run_on(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;
	struct timed_call_key key = { TIMED_CALL_PROCESS, STUCK_KEY, someone };

	reading->byte = timed_call_goes_on(call, key) ? 'y' : 'n';
}

static void a_call_goes_on_to_what_nobody_waits_for(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 2; i++) {
		struct timed_call *call = make_reading(-1, OTHER_KEY);

		call->run = run_on;
		assert_true(timed_calls_make(fixture->calls, call, long_ns));
		assert_int_equal(((struct reading *)call)->byte, i ? 'n' : 'y');
		call->destroy(call);
		if (!i)
			assert_false(timed_calls_make(fixture->calls,
						      make_reading(fixture->silent[0], STUCK_KEY),
						      short_ns));
	}
}

int main(void)
{
#define CALLS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CALLS_TEST(a_call_that_returns_is_the_callers_again),
		CALLS_TEST(one_that_does_not_is_left_behind),
		CALLS_TEST(those_left_behind_are_few_and_outlive_all),
		CALLS_TEST(one_owners_that_are_stuck_stop_none_of_others),
		CALLS_TEST(containers_of_one_user_have_a_bound_together),
		CALLS_TEST(being_slow_is_not_hanging),
		CALLS_TEST(a_call_goes_on_to_what_nobody_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
