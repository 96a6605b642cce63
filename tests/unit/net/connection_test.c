// SPDX-License-Identifier: Apache-2.0
/* Connections of a client: those that fail for nothing, and those that are dead. */
#include "client_fixture.h"
#include "mute_peer.h"

#include "base/base.h"
#include "net/connect_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND      (1000 * MILLISECOND)

/* So many connections of TCP are still to look as if something had overwritten errno. */
static atomic_uint overwritten;

/* gRPC also connects datagram sockets, to find out how an address is reached. */
static bool is_stream(int fd)
{
	socklen_t length = sizeof(int);
	int type = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_STREAM;
}

/* Here instead of the C library's. */
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	long status = syscall(SYS_connect, fd, address.__sockaddr__, length);

	if (atomic_load(&overwritten) && is_stream(fd)) {
		atomic_fetch_sub(&overwritten, 1);
		errno = ENOENT;
		return -1;
	}
	return (int)status;
}

static int connect_truly(void **state)
{
	(void)state;
	atomic_store(&overwritten, 0);
	return 0;
}

static void faults_that_connect_does_not_have_are_false(void **state)
{
	static const struct {
		const char *said;
		bool is_false;
	} cases[] = {
		{ "connections to all backends failing; last error: UNKNOWN: ipv4:127.0.0.1:38889: "
		  "No such file or directory",
		  true },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv6:%5B::1%5D:4317: "
		  "No such file or directory",
		  true },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Bad file descriptor",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Network is unreachable",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Operation not permitted",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Failed to connect to remote host: Connection refused",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Failed to connect to remote host: No such file or directory",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
		  "Ssl handshake failed: SSL_ERROR_SSL",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: unix:/tmp/socket: No "
		  "such file or directory",
		  false },
		{ "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317",
		  false },
		{ "No such file or directory", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (connect_fault_is_false(cases[i].said) != cases[i].is_false)
			fail_msg("misjudged: %s", cases[i].said);
}

static void a_false_fault_is_not_the_callers_concern(void **state)
{
	static const int balancers[] = { NET_ROUND_ROBIN, NET_PICK_FIRST };

	(void)state;
	for (size_t i = 0; i < sizeof(balancers) / sizeof(balancers[0]); i++) {
		for (unsigned int faults = 1; faults <= 3; faults += 2) {
			CLEANUP(fixture_deinit) struct fixture fixture;
			CLEANUP(net_answer_deinit) struct net_answer answer;

			fixture_init(&fixture);
			fixture.config.balancer = balancers[i];
			fixture_serve(&fixture, NULL, NULL);
			fixture_connect(&fixture);
			atomic_store(&overwritten, faults);
			answer = fixture_call(&fixture, "x");
			if (answer.code != NET_OK)
				fail_msg("%s: %s", net_code_name(answer.code), answer.message);
			assert_int_equal(fixture.server.calls, 1);
			assert_int_equal(overwritten, 0);
		}
	}
}

/* Port of 127.0.0.1 that nobody listens at. */
static void aim_at_nobody(struct fixture *fixture)
{
	fixture_init(fixture);
	strcpy(fixture->endpoint, "127.0.0.1:1");
	fixture_connect(fixture);
}

static void a_true_fault_is_told_at_once(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	aim_at_nobody(&fixture);
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_non_null(strstr(answer.message, "nobody listens at port 1"));
}

static void a_true_fault_after_a_false_one_meets_the_deadline(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	aim_at_nobody(&fixture);
	atomic_store(&overwritten, 1);
	net_client_call(fixture.client, TEST_METHOD, (const uint8_t *)"x", 1,
			clock_monotonic_ns() + 300 * MILLISECOND, &answer);
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_false(answer.from_peer);
	assert_non_null(strstr(answer.message, "nobody listens at port 1"));
}

static void aim_at_mute(struct fixture *fixture, const struct mute_peer *peer)
{
	fixture_init(fixture);
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "127.0.0.1:%d", peer->port);
	fixture->config.keepalive_named = true;
	fixture->config.keepalive.time_ns = 200 * MILLISECOND;
	fixture->config.keepalive.timeout_ns = 200 * MILLISECOND;
}

static void a_peer_that_does_not_answer_pings_is_given_up(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	struct mute_peer peer;

	(void)state;
	mute_peer_start(&peer);
	aim_at_mute(&fixture, &peer);
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_false(answer.from_peer);
	mute_peer_await_end(&peer);
	assert_true(peer.ended);
	assert_in_range(peer.frames.of_type[FRAME_PING], 1, 10);
}

static void connections_without_a_call_are_pinged_where_that_is_wanted(void **state)
{
	enum net_code code;

	(void)state;
	// To connect may take longer than the deadline; then it is another try.
	do {
		CLEANUP(fixture_deinit) struct fixture fixture;
		CLEANUP(net_answer_deinit) struct net_answer answer;
		struct mute_peer peer;

		mute_peer_start(&peer);
		aim_at_mute(&fixture, &peer);
		fixture.config.keepalive.permit_without_stream = true;
		fixture_connect(&fixture);
		net_client_call(fixture.client, TEST_METHOD, (const uint8_t *)"x", 1,
				clock_monotonic_ns() + 100 * MILLISECOND, &answer);
		code = answer.code;
		if (code == NET_UNAVAILABLE)
			net_client_destroy(TAKE(fixture.client));
		// The client does nothing more, but for that.
		mute_peer_await_end(&peer);
		if (code == NET_UNAVAILABLE)
			continue;
		assert_int_equal(code, NET_DEADLINE_EXCEEDED);
		assert_true(peer.ended);
		assert_in_range(peer.frames.of_type[FRAME_PING], 1, 10);
	} while (code == NET_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_that_connect_does_not_have_are_false),
		cmocka_unit_test_setup(a_false_fault_is_not_the_callers_concern, connect_truly),
		cmocka_unit_test_setup(a_true_fault_is_told_at_once, connect_truly),
		cmocka_unit_test_setup(a_true_fault_after_a_false_one_meets_the_deadline,
				       connect_truly),
		cmocka_unit_test_setup(a_peer_that_does_not_answer_pings_is_given_up,
				       connect_truly),
		cmocka_unit_test_setup(connections_without_a_call_are_pinged_where_that_is_wanted,
				       connect_truly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
