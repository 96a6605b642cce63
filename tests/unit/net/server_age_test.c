// SPDX-License-Identifier: Apache-2.0
/* How long a server keeps connections. */
#include "client_fixture.h"
#include "frames.h"
#include "server_fixture.h"

#include "base/base.h"
#include "net/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MILLISECOND UINT64_C(1000000)

enum { PATIENCE_MS = CALL_PATIENCE_MS };

/* A connection of a client that says no more than hello. */
static int say_hello(const struct server_fixture *fixture)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(fixture->endpoint, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, probe_hello, probe_hello_length), probe_hello_length);
	return fd;
}

static void connections_without_calls_are_ended(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FD int fd = -1;
	struct frames frames;
	uint64_t begin;

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.keepalive.server_parameters.max_connection_idle_ns = 300 * MILLISECOND;
	server_fixture_start(&fixture);
	begin = clock_monotonic_ns();
	fd = say_hello(&fixture);
	assert_true(frames_read_to_end(fd, 0, PATIENCE_MS, &frames));
	assert_true(clock_monotonic_ns() - begin >= 290 * MILLISECOND);
}

static void old_connections_are_ended_with_a_word(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FD int fd = -1;
	struct frames frames;
	uint64_t begin;

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.keepalive.server_parameters.max_connection_age_ns = 300 * MILLISECOND;
	fixture.config.keepalive.server_parameters.max_connection_age_grace_ns = 100 * MILLISECOND;
	server_fixture_start(&fixture);
	begin = clock_monotonic_ns();
	fd = say_hello(&fixture);
	assert_true(frames_read_to_end(fd, 0, PATIENCE_MS, &frames));
	// gRPC spreads the age by a tenth.
	assert_true(clock_monotonic_ns() - begin >= 260 * MILLISECOND);
	assert_in_range(frames.of_type[FRAME_GOAWAY], 1, 2);
}

/* One call that the server handles: on a busy machine the connection may be too old before. */
static void *call_run(void *argument)
{
	struct server_fixture *fixture = argument;
	uintptr_t code;

	do {
		struct net_answer answer = server_fixture_call(fixture, fixture->endpoint, "ping",
							       4, NET_GZIP, CALL_PATIENCE_MS);

		code = answer.code;
		net_answer_deinit(&answer);
	} while (!server_fixture_entered(fixture));
	return (void *)code;
}

static void a_call_outlives_the_age_of_its_connection(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	pthread_t thread;
	void *code;

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.keepalive.server_parameters.max_connection_age_ns = 100 * MILLISECOND;
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	assert_int_equal(pthread_create(&thread, NULL, call_run, &fixture), 0);
	server_fixture_wait_inside(&fixture, 1);
	// Two younger connections come of age one after the other, so the call's has, too: gRPC
	// spreads the age by a tenth.
	for (int i = 0; i < 2; i++) {
		CLEANUP_FD int fd = say_hello(&fixture);

		assert_true(frames_await(fd, FRAME_GOAWAY, PATIENCE_MS));
	}
	server_fixture_hold(&fixture, false);
	pthread_join(thread, &code);
	assert_int_equal((uintptr_t)code, NET_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_without_calls_are_ended),
		cmocka_unit_test(old_connections_are_ended_with_a_word),
		cmocka_unit_test(a_call_outlives_the_age_of_its_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
