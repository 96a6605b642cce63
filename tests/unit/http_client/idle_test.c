// SPDX-License-Identifier: Apache-2.0
/* Connections that wait: which one comes next, and which are closed. */
#include "http_client/idle.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

/* Puts one end of a new pair into @pool and returns the other, the caller's. */
static int put_pair(struct idle_pool *pool, const char *way, int *put_ret)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	idle_pool_put(pool, way, &(struct idle_connection){ .fd = ends[0] });
	*put_ret = ends[0];
	return ends[1];
}

static bool is_closed(int other_end)
{
	char byte;

	return recv(other_end, &byte, 1, MSG_DONTWAIT) == 0;
}

static void expect_none(struct idle_pool *pool, const char *way)
{
	struct idle_connection taken;

	assert_false(idle_pool_take(pool, way, &taken));
}

static void expect_taken(struct idle_pool *pool, const char *way, int fd)
{
	struct idle_connection taken;

	assert_true(idle_pool_take(pool, way, &taken));
	assert_int_equal(taken.fd, fd);
	assert_null(taken.session);
	idle_connection_close(&taken);
}

static void the_last_of_a_way_is_the_next(void **state)
{
	struct idle_pool *pool = idle_pool_create(10, 0);
	int others[3], put[3];

	(void)state;
	others[0] = put_pair(pool, "a", &put[0]);
	others[1] = put_pair(pool, "b", &put[1]);
	others[2] = put_pair(pool, "a", &put[2]);
	expect_none(pool, "c");
	expect_taken(pool, "a", put[2]);
	expect_taken(pool, "a", put[0]);
	expect_none(pool, "a");
	assert_false(is_closed(others[1]));
	idle_pool_destroy(pool);
	assert_true(is_closed(others[1]));
	for (int i = 0; i < 3; i++)
		close(others[i]);
}

static void the_oldest_beyond_the_bound_are_closed(void **state)
{
	struct idle_pool *pool = idle_pool_create(2, 0);
	int others[4], put[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		others[i] = put_pair(pool, "a", &put[i]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(is_closed(others[i]), i < 2);
	expect_taken(pool, "a", put[3]);
	expect_taken(pool, "a", put[2]);
	expect_none(pool, "a");
	idle_pool_destroy(pool);
	for (int i = 0; i < 4; i++)
		close(others[i]);
}

static void a_pool_for_none_keeps_none(void **state)
{
	struct idle_pool *pool = idle_pool_create(0, 0);
	int put, other = put_pair(pool, "a", &put);

	(void)state;
	assert_true(is_closed(other));
	expect_none(pool, "a");
	idle_pool_destroy(pool);
	close(other);
}

static void what_has_spoken_or_ended_is_closed(void **state)
{
	struct idle_pool *pool = idle_pool_create(10, 0);
	int put[2], spoken = put_pair(pool, "a", &put[0]), ended = put_pair(pool, "a", &put[1]);

	(void)state;
	assert_int_equal(send(spoken, "!", 1, 0), 1);
	shutdown(ended, SHUT_WR);
	expect_none(pool, "a");
	assert_true(is_closed(ended));
	idle_pool_destroy(pool);
	close(spoken);
	close(ended);
}

static void time_is_bound(void **state)
{
	struct idle_pool *pool = idle_pool_create(10, 1);
	int put, other = put_pair(pool, "a", &put);

	(void)state;
	expect_none(pool, "a");
	assert_true(is_closed(other));
	idle_pool_destroy(pool);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_of_a_way_is_the_next),
		cmocka_unit_test(the_oldest_beyond_the_bound_are_closed),
		cmocka_unit_test(a_pool_for_none_keeps_none),
		cmocka_unit_test(what_has_spoken_or_ended_is_closed),
		cmocka_unit_test(time_is_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
