// SPDX-License-Identifier: Apache-2.0
/* Clients that are slow, silent, many or mad: each costs little, and others are served. */
#include "http_client.h"

#include "host/http/connection.h"

#include "base/base.h"

#include <profcol/logging.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define HOST   "Host: x\r\n"
#define LAST   HOST "Connection: close\r\n\r\n"
#define SECOND UINT64_C(1000000000)
#define MOMENT 100000000 /* ns: host/http/connection.c */
#define SOON   30000000  /* ns: reached by waiting for what comes of it */

enum { CONNECTIONS = 64 };

static int setup(void **state)
{
	static struct http_fixture fixture;

	http_fixture_init(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	http_fixture_deinit(*state);
	return 0;
}

static void assert_served(const struct http_fixture *fixture)
{
	assert_int_equal(http_client_status(fixture, "GET / HTTP/1.1\r\n" LAST), 200);
}

static void who_says_nothing_is_left(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *nothing = NULL;
	CLEANUP_FD int fd = -1;
	size_t length;

	fixture->settings.header_timeout_ns = SOON;
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	nothing = http_client_read_all(fd, &length);
	assert_int_equal(length, 0);
}

/* The time is for the whole request: a byte now and then does not prolong it. */
static void who_never_finishes_a_request_is_told(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *reply = NULL;
	CLEANUP_FD int fd = -1;
	size_t sent = 0;

	fixture->settings.header_timeout_ns = 10 * SOON;
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, "GET / HTTP/1.1\r\n", 16), 0);
	for (;; sent++) {
		struct timeval pause = { .tv_usec = 2000 };
		char c;

		if (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != -1)
			break;
		if (http_client_send(fd, "a", 1))
			break;
		select(0, NULL, NULL, NULL, &pause);
		assert_true(sent < 5000);
	}
	reply = http_client_read_all(fd, NULL);
	assert_int_equal(http_reply_status(reply), 408);
}

static void who_does_not_ask_again_is_left(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *reply = NULL, *nothing = NULL;
	CLEANUP_FD int fd = -1;
	size_t length;

	fixture->settings.idle_timeout_ns = SOON;
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, "GET / HTTP/1.1\r\n" HOST "\r\n", 27), 0);
	reply = http_client_read_reply(fd);
	assert_int_equal(http_reply_status(reply), 200);
	nothing = http_client_read_all(fd, &length);
	assert_int_equal(length, 0);
}

static void who_does_not_take_a_reply_is_left(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *rest = NULL;
	CLEANUP_FD int fd = -1;
	size_t length;

	fixture->settings.write_timeout_ns = SOON;
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, "GET /big HTTP/1.1\r\n" HOST "\r\n", 30), 0);
	// Served meanwhile, and after.
	for (int i = 0; i < 50; i++)
		assert_served(fixture);
	for (int error = 0; !error;) {
		socklen_t size = sizeof(error);
		struct timeval pause = { .tv_usec = 2000 };

		// The server has gone when writing to it fails.
		error = http_client_send(fd, "x", 1);
		select(0, NULL, NULL, NULL, &pause);
		if (!error)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	}
	rest = http_client_read_all(fd, &length);
	assert_true(length < BIG_PAGE_BYTES);
}

static void silent_connections_keep_nobody_out(void **state)
{
	struct http_fixture *fixture = *state;
	int fds[3 * CONNECTIONS];
	size_t open = 0;

	http_fixture_open(fixture);
	for (size_t i = 0; i < 3 * CONNECTIONS; i++) {
		fds[i] = http_client_connect(fixture);
		if (i % 3 == 0)
			assert_served(fixture);
	}
	assert_served(fixture);
	// The oldest had to go, and no more than that.
	for (size_t i = 0; i < 3 * CONNECTIONS; i++) {
		char c;

		open += recv(fds[i], &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
		close(fds[i]);
	}
	assert_in_range(open, CONNECTIONS / 2, CONNECTIONS);
}

/* Whoever comes has a moment to ask, however many come after. */
static void who_is_about_to_ask_is_not_displaced(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\n" LAST;
	struct http_fixture *fixture = *state;
	uint64_t begun_ns;

	http_fixture_open(fixture);
	// A machine that is slow enough takes longer than that moment; then it is another try.
	do {
		CLEANUP_FREE char *reply = NULL;
		CLEANUP_FD int fd = -1;
		int silent[CONNECTIONS];

		begun_ns = clock_monotonic_ns();
		fd = http_client_connect(fixture);
		for (size_t i = 0; i < CONNECTIONS; i++)
			silent[i] = http_client_connect(fixture);
		(void)http_client_send(fd, request, sizeof(request) - 1);
		reply = http_client_read_all(fd, NULL);
		// Who goes within that moment has been displaced.
		if (http_reply_status(reply) == 200)
			begun_ns = 0;
		else
			assert_true(clock_monotonic_ns() - begun_ns >= MOMENT);
		for (size_t i = 0; i < CONNECTIONS; i++)
			close(silent[i]);
	} while (begun_ns);
}

/* The moments of thousands who wait in front of a probe would last longer than it waits. */
static void the_more_wait_the_shorter_is_the_moment(void **state)
{
	static const size_t waiting[] = { 0, CONNECTIONS, 10 * CONNECTIONS, 50 * CONNECTIONS };
	static const struct http_connection_settings settings = { .header_timeout_ns = SECOND };
	struct event_base *base = event_base_new();
	struct http_connection_list list;
	uint64_t begun_ns;
	int pair[2];

	(void)state;
	http_connection_list_init(&list);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	begun_ns = clock_monotonic_ns();
	assert_true(http_connection_create(base, pair[0], NULL, &settings, &list));
	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]) && list.count; i++) {
		size_t rounds = waiting[i] > CONNECTIONS ? waiting[i] / CONNECTIONS : 1;
		uint64_t wait_ns = 0;
		enum http_room room = http_connection_displace(&list, waiting[i], &wait_ns);

		// A machine that is slow enough has let that moment pass.
		if (room == HTTP_ROOM_SOON) {
			assert_in_range(wait_ns, 1, MOMENT / rounds);
			continue;
		}
		assert_int_equal(room, HTTP_ROOM_MADE);
		assert_true(clock_monotonic_ns() - begun_ns >= MOMENT / rounds);
	}
	while (list.count)
		http_connection_destroy(list.queue.tqh_first);
	event_base_free(base);
	close(pair[1]);
}

/* For a moment; then who does not read its reply goes, long before the time for that is over. */
static void who_comes_while_all_are_busy_is_refused_for_a_second(void **state)
{
	static const char request[] = "GET /large HTTP/1.1\r\n" HOST "\r\n"
				      "GET /large HTTP/1.1\r\n" HOST "\r\n";
	struct http_fixture *fixture = *state;
	uint64_t begun_ns, served_ns;
	int fds[CONNECTIONS], status;
	size_t open = 0;
	char c;

	fixture->settings.write_timeout_ns = 60 * SECOND;
	http_fixture_open(fixture);
	begun_ns = clock_monotonic_ns();
	for (size_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = http_client_connect_narrow(fixture);
		assert_int_equal(http_client_send(fds[i], request, sizeof(request) - 1), 0);
		assert_int_equal(recv(fds[i], &c, 1, MSG_PEEK), 1);
	}
	status = http_client_status(fixture, "GET / HTTP/1.1\r\n" LAST);
	// On a machine that is slow enough the first of them has had its second.
	if (clock_monotonic_ns() - begun_ns < SECOND)
		assert_int_equal(status, 0);
	while (http_client_status(fixture, "GET / HTTP/1.1\r\n" LAST) != 200)
		assert_true(clock_monotonic_ns() - begun_ns < 30 * SECOND);
	served_ns = clock_monotonic_ns();
	assert_true(served_ns - begun_ns >= SECOND);
	// No more had to go than came.
	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct tcp_info info;
		socklen_t size = sizeof(info);

		assert_int_equal(getsockopt(fds[i], IPPROTO_TCP, TCP_INFO, &info, &size), 0);
		open += info.tcpi_state == TCP_ESTABLISHED;
		close(fds[i]);
	}
	assert_true(open >= CONNECTIONS - 2);
}

static void a_head_has_a_bound(void **state)
{
	enum { BYTES = 64 << 10 };
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *reply = NULL, *bytes = malloc(BYTES);
	CLEANUP_FD int fd = -1;

	assert_non_null(bytes);
	memset(bytes, 'a', BYTES);
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, "GET / HTTP/1.1\r\na: ", 19), 0);
	assert_int_equal(http_client_send(fd, bytes, BYTES), 0);
	reply = http_client_read_all(fd, NULL);
	assert_int_equal(http_reply_status(reply), 431);
	assert_int_equal(fixture->handled, 0);
}

static void a_flood_after_a_refusal_is_cut_off(void **state)
{
	enum { BYTES = 1 << 20 };
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *bytes = calloc(1, BYTES);
	CLEANUP_FD int fd = -1;
	int status = 0;

	assert_non_null(bytes);
	http_fixture_open(fixture);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, "nonsense\r\n\r\n", 12), 0);
	// The socket's buffers take some of it; the rest would wait for ever.
	for (int i = 0; i < 64 && !status; i++)
		status = http_client_send(fd, bytes, BYTES);
	assert_true(status == -EPIPE || status == -ECONNRESET);
	assert_served(fixture);
}

static sem_t complained;

__attribute__((format(printf, 3, 0))) static void
note_complaint(const struct profcol_logger *logger, enum profcol_level level, const char *format,
	       va_list arguments)
{
	(void)logger;
	(void)level;
	(void)format;
	(void)arguments;
	sem_post(&complained);
}

/* Without descriptors clients wait; then they are served, and meanwhile no CPU is kept busy. */
static void no_descriptors_is_no_end(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\n" LAST;
	struct http_fixture *fixture = *state;
	static const struct profcol_logger logger = { sizeof(logger), PROFCOL_DEBUG,
						      note_complaint };
	struct rlimit before, none;
	int more = 0;
	CLEANUP_FREE char *reply = NULL;
	CLEANUP_FD int fd = -1;

	fixture->settings.logger = &logger;
	sem_init(&complained, 0, 0);
	http_fixture_open(fixture);
	assert_served(fixture);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	// The client's own descriptor has to be possible, the server's side of it not.
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	none.rlim_cur = (rlim_t)fd + 1;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = http_client_connect(fixture);
	assert_int_equal(http_client_send(fd, request, sizeof(request) - 1), 0);
	sem_wait(&complained);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	reply = http_client_read_all(fd, NULL);
	// Said once, however often it was tried.
	sem_getvalue(&complained, &more);
	assert_int_equal(more, 0);
	sem_destroy(&complained);
	assert_int_equal(http_reply_status(reply), 200);
}

/* The same for each run: bytes that are nearly requests. */
static void mad_clients_do_no_harm(void **state)
{
	static const char request[] =
		"GET /echo?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct http_fixture *fixture = *state;
	uint64_t random = 88172645463325252;

	http_fixture_open(fixture);
	for (int i = 0; i < 500; i++) {
		CLEANUP_FD int fd = http_client_connect(fixture);
		CLEANUP_FREE char *reply = NULL;
		char bytes[sizeof(request)];

		memcpy(bytes, request, sizeof(request));
		for (int j = 0; j < 1 + i % 4; j++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[random % (sizeof(request) - 1)] = (char)(random >> 32);
		}
		(void)http_client_send(fd, bytes, sizeof(request) - 1);
		shutdown(fd, SHUT_WR);
		reply = http_client_read_all(fd, NULL);
		if (reply[0])
			assert_in_range(http_reply_status(reply), 200, 505);
	}
	assert_served(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_says_nothing_is_left),
		TEST(who_never_finishes_a_request_is_told),
		TEST(who_does_not_ask_again_is_left),
		TEST(who_does_not_take_a_reply_is_left),
		TEST(silent_connections_keep_nobody_out),
		TEST(who_is_about_to_ask_is_not_displaced),
		TEST(the_more_wait_the_shorter_is_the_moment),
		TEST(who_comes_while_all_are_busy_is_refused_for_a_second),
		TEST(a_head_has_a_bound),
		TEST(a_flood_after_a_refusal_is_cut_off),
		TEST(no_descriptors_is_no_end),
		TEST(mad_clients_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
