// SPDX-License-Identifier: Apache-2.0
/* A name server that does not answer must hold up neither deadlines nor those that succeed. */
#include "client_fixture.h"

#include "base/base.h"
#include "net/client.h"
#include "net/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000)

/* What getaddrinfo, here instead of the C library's, does: hang until it is let go. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hang;
	unsigned int calls, inside;
} names = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int getaddrinfo(const char *restrict name, const char *restrict service,
		const struct addrinfo *restrict wanted, struct addrinfo **restrict ret)
{
	(void)name;
	(void)service;
	(void)ret;
	pthread_mutex_lock(&names.lock);
	// Each is followed by one for IPv4 alone.
	names.calls += wanted->ai_family == AF_UNSPEC;
	names.inside++;
	pthread_cond_broadcast(&names.changed);
	while (names.hang)
		pthread_cond_wait(&names.changed, &names.lock);
	names.inside--;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.lock);
	return EAI_NONAME;
}

static int names_hang(void **state)
{
	(void)state;
	pthread_mutex_lock(&names.lock);
	names.hang = true;
	names.calls = 0;
	pthread_mutex_unlock(&names.lock);
	return 0;
}

static void names_wait_asked(void)
{
	pthread_mutex_lock(&names.lock);
	while (!names.calls)
		pthread_cond_wait(&names.changed, &names.lock);
	pthread_mutex_unlock(&names.lock);
}

/* Where time stands still, what waits for a lookup waits for ever: that it ends shows that it does
 * not wait. */
static _Atomic uint64_t stands_at_ns;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	uint64_t ns = stands_at_ns;

	return ns ? ns : __real_clock_monotonic_ns();
}

static int names_let_go(void **state)
{
	(void)state;
	pthread_mutex_lock(&names.lock);
	names.hang = false;
	stands_at_ns = 0;
	pthread_cond_broadcast(&names.changed);
	while (names.inside)
		pthread_cond_wait(&names.changed, &names.lock);
	pthread_mutex_unlock(&names.lock);
	return 0;
}

static void connect_nowhere(struct fixture *fixture)
{
	fixture_init(fixture);
	strcpy(fixture->endpoint, "stuck.example:4317");
	fixture_connect(fixture);
}

static void *diagnose(void *client)
{
	return diagnosis_find(client, "no connection");
}

static uint64_t elapsed_ns(uint64_t since_ns)
{
	return clock_monotonic_ns() - since_ns;
}

static void a_lookup_ends_with_the_deadline(void **state)
{
	struct lookup *lookup = NULL;
	uint64_t begin = clock_monotonic_ns();
	const struct probe probe = {
		.host = "stuck.example",
		.port = "4317",
		.lookup = &lookup,
		.cancelled_fd = -1,
		.deadline_ns = begin + 1200 * MILLISECOND,
	};
	CLEANUP_FREE char *first = probe_run(&probe);
	CLEANUP_FREE char *second = probe_run(&probe);

	(void)state;
	assert_true(elapsed_ns(begin) >= 1190 * MILLISECOND);
	assert_string_equal(first, "name 'stuck.example' could not be looked up in time; check "
				   "DNS");
	// One lookup may hang; a second one does not join it.
	assert_string_equal(second, first);
	assert_int_equal(names.calls, 1);
	lookup_drop(lookup);
}

static void a_lookup_ends_when_cancelled(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t thread;
	void *text;

	(void)state;
	stands_at_ns = clock_monotonic_ns();
	connect_nowhere(&fixture);
	assert_int_equal(pthread_create(&thread, NULL, diagnose, fixture.client), 0);
	names_wait_asked();
	net_client_cancel(fixture.client);
	pthread_join(thread, &text);
	assert_null(text);
	// And is not even begun afterwards.
	names.calls = 0;
	assert_null(diagnosis_find(fixture.client, "another"));
	assert_int_equal(names.calls, 0);
}

static void success_does_not_wait_for_a_lookup(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t thread;
	void *text;

	(void)state;
	stands_at_ns = clock_monotonic_ns();
	connect_nowhere(&fixture);
	assert_int_equal(pthread_create(&thread, NULL, diagnose, fixture.client), 0);
	names_wait_asked();
	diagnosis_forget(fixture.client);
	names_let_go(NULL);
	pthread_join(thread, &text);
	assert_non_null(text);
	free(text);
	// What was found is over: the next failure is looked into afresh.
	free(diagnosis_find(fixture.client, "no connection"));
	assert_int_equal(names.calls, 2);
}

static void those_who_fail_together_share_one_lookup(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t threads[4];

	(void)state;
	connect_nowhere(&fixture);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, diagnose, fixture.client), 0);
	names_wait_asked();
	names_let_go(NULL);
	for (size_t i = 0; i < 4; i++) {
		void *text;

		pthread_join(threads[i], &text);
		assert_string_equal(text,
				    "name 'stuck.example' not found; check the endpoint and DNS");
		free(text);
	}
	assert_int_equal(names.calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_lookup_ends_with_the_deadline, names_hang,
						names_let_go),
		cmocka_unit_test_setup_teardown(a_lookup_ends_when_cancelled, names_hang,
						names_let_go),
		cmocka_unit_test_setup_teardown(success_does_not_wait_for_a_lookup, names_hang,
						names_let_go),
		cmocka_unit_test_setup_teardown(those_who_fail_together_share_one_lookup,
						names_hang, names_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
