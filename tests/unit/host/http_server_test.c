// SPDX-License-Identifier: Apache-2.0
/* The HTTP server as its clients see it. */
#include "http_client.h"

#include "base/base.h"
#include "tests/unit/own_descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOST "Host: whoever.example\r\n"
#define LAST HOST "Connection: close\r\n\r\n"

static int setup(void **state)
{
	static struct http_fixture fixture;

	http_fixture_init(&fixture);
	http_fixture_open(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	http_fixture_deinit(*state);
	return 0;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strcasestr(text, part))
		fail_msg("'%s' is in: %s", part, text);
}

static void a_page_comes_with_sound_headers(void **state)
{
	CLEANUP_FREE char *reply = http_client_ask(*state, "GET /echo%20x?a=b HTTP/1.1\r\n" LAST);

	assert_int_equal(http_reply_status(reply), 200);
	assert_contains(reply, "HTTP/1.1 200 OK\r\n");
	assert_contains(reply, "\r\nContent-Type: text/html; charset=utf-8\r\n");
	assert_contains(reply, "\r\nContent-Length: 14\r\n");
	assert_contains(reply, "\r\nX-Content-Type-Options: nosniff\r\n");
	assert_contains(reply, "\r\nCache-Control: no-store\r\n");
	assert_contains(reply, "\r\nContent-Security-Policy: default-src 'none'");
	assert_contains(reply, "\r\nConnection: close\r\n");
	assert_contains(reply, "\r\nDate: ");
	assert_contains(reply, " GMT\r\n");
	assert_contains(reply, "\r\n\r\n[/echo x][a=b]");
	// What the client says of the host is in nothing.
	assert_lacks(reply, "whoever");
}

static void a_page_without_a_body_is_whole(void **state)
{
	CLEANUP_FREE char *reply = http_client_ask(*state, "GET /empty HTTP/1.1\r\n" LAST);

	assert_int_equal(http_reply_status(reply), 200);
	assert_contains(reply, "\r\nContent-Length: 0\r\n");
	assert_contains(reply, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
}

static void a_page_with_a_status_that_is_none_is_an_error(void **state)
{
	assert_int_equal(http_client_status(*state, "GET /odd HTTP/1.1\r\n" LAST), 500);
}

static void head_says_the_length_and_sends_nothing(void **state)
{
	CLEANUP_FREE char *reply = http_client_ask(*state, "HEAD /echo HTTP/1.1\r\n" LAST);
	const char *end = strstr(reply, "\r\n\r\n");

	assert_contains(reply, "\r\nContent-Length: 9\r\n");
	assert_non_null(end);
	assert_string_equal(end, "\r\n\r\n");
}

static void other_methods_are_told_what_is_allowed(void **state)
{
	static const char *const methods[] = {
		"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"
	};
	struct http_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		CLEANUP_FREE char *reply = NULL;
		char request[128];

		snprintf(request, sizeof(request), "%s / HTTP/1.1\r\n" LAST, methods[i]);
		reply = http_client_ask(fixture, request);
		assert_int_equal(http_reply_status(reply), 405);
		assert_contains(reply, "\r\nAllow: GET, HEAD\r\n");
	}
	assert_int_equal(fixture->handled, 0);
}

/* However much a client sends along, it gets to read the refusal. */
static void a_body_is_refused_in_words(void **state)
{
	enum { BODY = 100000 };
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *reply = NULL, *body = malloc(BODY);
	const char *head = "POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n";
	char end;

	assert_non_null(body);
	memset(body, 'b', BODY);
	assert_int_equal(http_client_send(fd, head, strlen(head)), 0);
	assert_int_equal(http_client_send(fd, body, BODY), 0);
	reply = http_client_read_reply(fd);
	assert_int_equal(http_reply_status(reply), 405);
	assert_int_equal(recv(fd, &end, 1, 0), 0); // an end, not a reset
	assert_int_equal(
		http_client_status(*state, "GET / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab"),
		413);
}

static void one_connection_carries_many_requests(void **state)
{
	CLEANUP_FD int fd = http_client_connect(*state);

	for (int i = 0; i < 20; i++) {
		CLEANUP_FREE char *reply = NULL;
		char request[128], body[64];

		snprintf(request, sizeof(request), "%sGET /echo/%d HTTP/1.1\r\n" HOST "\r\n",
			 i % 2 ? "\r\n" : "", i);
		snprintf(body, sizeof(body), "\r\n\r\n[/echo/%d][]", i);
		assert_int_equal(http_client_send(fd, request, strlen(request)), 0);
		reply = http_client_read_reply(fd);
		assert_contains(reply, body);
		assert_lacks(reply, "Connection:");
	}
}

static void requests_sent_ahead_are_answered_in_order(void **state)
{
	CLEANUP_FREE char *replies = http_client_ask(*state, "GET /echo/1 HTTP/1.1\r\n" HOST "\r\n"
							     "HEAD /echo/2 HTTP/1.1\r\n" HOST "\r\n"
							     "GET /echo/3 HTTP/1.1\r\n" LAST
							     "GET /echo/4 HTTP/1.1\r\n" LAST);
	const char *first = strstr(replies, "[/echo/1][]");

	assert_non_null(first);
	assert_contains(first, "[/echo/3][]");
	assert_lacks(replies, "[/echo/2]");
	assert_lacks(replies, "[/echo/4]"); // the third said that it was the last one
}

static void a_request_may_come_byte_by_byte(void **state)
{
	static const char request[] = "GET /echo HTTP/1.1\r\n" LAST;
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *reply = NULL;

	for (size_t i = 0; i < sizeof(request) - 1; i++)
		assert_int_equal(http_client_send(fd, request + i, 1), 0);
	reply = http_client_read_all(fd, NULL);
	assert_contains(reply, "[/echo][]");
}

static void a_client_that_is_done_with_sending_gets_its_reply(void **state)
{
	static const char request[] = "GET /echo HTTP/1.0\r\n\r\n";
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *reply = NULL;

	assert_int_equal(http_client_send(fd, request, sizeof(request) - 1), 0);
	shutdown(fd, SHUT_WR);
	reply = http_client_read_all(fd, NULL);
	assert_contains(reply, "[/echo][]");
}

static void a_long_page_arrives_whole(void **state)
{
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *reply = NULL;
	const char *request = "GET /big HTTP/1.1\r\n" LAST;
	size_t length;

	assert_int_equal(http_client_send(fd, request, strlen(request)), 0);
	reply = http_client_read_all(fd, &length);
	assert_true(length > BIG_PAGE_BYTES);
	assert_int_equal(strlen(strstr(reply, "\r\n\r\n") + 4), BIG_PAGE_BYTES);
}

/* Whoever asks with HEAD reads no body, of a refusal neither. */
static void a_refusal_is_a_reply_as_others(void **state)
{
	static const char *const names[] = { "Strict-Transport-Security" };
	static const char *const values[] = { "max-age=1" };
	static const char start[] = "HEAD / HTTP/1.1\r\nA: ";
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *post = NULL, *long_head = NULL;
	char request[sizeof(start) + 20000];

	http_fixture_close(fixture);
	fixture->settings.headers = (struct profcol_map){ names, values, 1 };
	http_fixture_open(fixture);
	post = http_client_ask(fixture, "POST / HTTP/1.1\r\n" LAST);
	assert_int_equal(http_reply_status(post), 405);
	assert_contains(post, "\r\nStrict-Transport-Security: max-age=1\r\n");
	memset(request, 'a', sizeof(request));
	memcpy(request, start, sizeof(start) - 1);
	request[sizeof(request) - 1] = '\0';
	long_head = http_client_ask(fixture, request);
	assert_int_equal(http_reply_status(long_head), 431);
	assert_string_equal(strstr(long_head, "\r\n\r\n"), "\r\n\r\n");
}

static void configured_headers_are_in_each_reply(void **state)
{
	static const char *const names[] = { "Strict-Transport-Security", "X-Broken" };
	static const char *const values[] = { "max-age=1", "a\r\nSet-Cookie: b" };
	struct http_fixture *fixture = *state;
	CLEANUP_FREE char *reply = NULL;

	http_fixture_close(fixture);
	fixture->settings.headers = (struct profcol_map){ names, values, 2 };
	fixture->settings.close_after_reply = true;
	http_fixture_open(fixture);
	reply = http_client_ask(fixture, "GET / HTTP/1.1\r\n" HOST "\r\n");
	assert_contains(reply, "\r\nStrict-Transport-Security: max-age=1\r\n");
	assert_contains(reply, "\r\nConnection: close\r\n");
	assert_lacks(reply, "Set-Cookie");
}

/* ---- close ---- */

static void *close_listener(void *context)
{
	http_fixture_close(context);
	return NULL;
}

static void close_waits_for_the_page_that_is_being_made(void **state)
{
	static const char request[] = "GET /slow HTTP/1.1\r\n" HOST "\r\n";
	struct http_fixture *fixture = *state;
	CLEANUP_FD int fd = http_client_connect(fixture);
	CLEANUP_FREE char *reply = NULL;
	pthread_t closer;

	assert_int_equal(http_client_send(fd, request, sizeof(request) - 1), 0);
	sem_wait(&fixture->entered);
	assert_int_equal(pthread_create(&closer, NULL, close_listener, fixture), 0);
	sem_post(&fixture->go);
	pthread_join(closer, NULL);
	assert_true(fixture->leaving);
	// And the page that was being made arrives.
	reply = http_client_read_all(fd, NULL);
	assert_int_equal(http_reply_status(reply), 200);
}

static void close_lets_a_reply_arrive_and_ends_what_waits(void **state)
{
	static const char request[] = "GET /big HTTP/1.1\r\n" HOST "\r\n";
	struct http_fixture *fixture = *state;
	CLEANUP_FD int busy = http_client_connect(fixture);
	CLEANUP_FD int idle = http_client_connect(fixture);
	CLEANUP_FREE char *reply = NULL, *nothing = NULL, *start = NULL;
	char address[128], c;
	size_t length;

	snprintf(address, sizeof(address), "%s", http_listener_address(fixture->listener));
	assert_int_equal(http_client_send(idle, "GET /", 5), 0);
	assert_int_equal(http_client_send(busy, request, sizeof(request) - 1), 0);
	assert_int_equal(recv(busy, &c, 1, MSG_PEEK), 1); // it has begun, and cannot have ended
	http_fixture_close(fixture);
	assert_true(http_client_connect_to(address) < 0);
	nothing = http_client_read_all(idle, &length);
	assert_int_equal(length, 0);
	reply = http_client_read_all(busy, &length);
	assert_true(length > BIG_PAGE_BYTES);
}

static void listeners_come_and_go_without_a_trace(void **state)
{
	struct http_fixture *fixture = *state;
	size_t before = own_descriptors();
	char endpoint[128];

	// The same port each time, with connections of the time before still around.
	snprintf(endpoint, sizeof(endpoint), "%s", http_listener_address(fixture->listener));
	for (int i = 0; i < 50; i++) {
		CLEANUP_FD int idle = http_client_connect(fixture);

		assert_int_equal(http_client_status(fixture, "GET / HTTP/1.1\r\n" LAST), 200);
		http_fixture_close(fixture);
		fixture->settings.endpoint = endpoint;
		http_fixture_open(fixture);
	}
	http_fixture_close(fixture);
	fixture->settings.endpoint = "localhost:0";
	http_fixture_open(fixture);
	assert_int_equal(own_descriptors(), before);
}

static void a_server_nobody_opens_anything_at_just_goes(void **state)
{
	struct http_server *server;

	(void)state;
	assert_null(http_server_create(&server));
	http_server_destroy(server);
	http_server_destroy(NULL);
	http_listener_close(NULL);
}

static void the_end_of_the_server_ends_everything(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FD int idle = http_client_connect(fixture), busy = http_client_connect(fixture);
	CLEANUP_FREE char *nothing = NULL, *start = NULL;
	const char *request = "GET /big HTTP/1.1\r\n" HOST "\r\n";
	size_t length;
	char c;

	assert_int_equal(http_client_send(busy, request, strlen(request)), 0);
	assert_int_equal(recv(busy, &c, 1, MSG_PEEK), 1);
	http_server_destroy(TAKE(fixture->server));
	fixture->listener = NULL; // closed with it
	nothing = http_client_read_all(idle, &length);
	assert_int_equal(length, 0);
	start = http_client_read_all(busy, &length);
	assert_true(length < BIG_PAGE_BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_page_comes_with_sound_headers),
		TEST(a_page_without_a_body_is_whole),
		TEST(a_page_with_a_status_that_is_none_is_an_error),
		TEST(head_says_the_length_and_sends_nothing),
		TEST(other_methods_are_told_what_is_allowed),
		TEST(a_body_is_refused_in_words),
		TEST(one_connection_carries_many_requests),
		TEST(requests_sent_ahead_are_answered_in_order),
		TEST(a_request_may_come_byte_by_byte),
		TEST(a_client_that_is_done_with_sending_gets_its_reply),
		TEST(a_long_page_arrives_whole),
		TEST(a_refusal_is_a_reply_as_others),
		TEST(configured_headers_are_in_each_reply),
		TEST(close_waits_for_the_page_that_is_being_made),
		TEST(close_lets_a_reply_arrive_and_ends_what_waits),
		TEST(listeners_come_and_go_without_a_trace),
		cmocka_unit_test(a_server_nobody_opens_anything_at_just_goes),
		TEST(the_end_of_the_server_ends_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
