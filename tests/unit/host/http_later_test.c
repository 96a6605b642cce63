// SPDX-License-Identifier: Apache-2.0
/* Requests that a component takes, and answers when it likes. */
#include "http_client.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOST "Host: whoever.example\r\n"
#define LAST HOST "Connection: close\r\n\r\n"

enum { TAKEN_MAX = 4 };

/* Where the calls go. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct profcol_http_call *calls[TAKEN_MAX];
	size_t count;
} taken = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void take(void *context, struct profcol_http_call *call)
{
	(void)context;
	pthread_mutex_lock(&taken.lock);
	if (taken.count == TAKEN_MAX)
		abort();
	taken.calls[taken.count++] = call;
	pthread_cond_broadcast(&taken.changed);
	pthread_mutex_unlock(&taken.lock);
}

/* The next call, once it is there. */
static struct profcol_http_call *next_call(void)
{
	struct profcol_http_call *call;

	pthread_mutex_lock(&taken.lock);
	while (!taken.count)
		pthread_cond_wait(&taken.changed, &taken.lock);
	call = taken.calls[0];
	memmove(taken.calls, taken.calls + 1, --taken.count * sizeof(taken.calls[0]));
	pthread_mutex_unlock(&taken.lock);
	return call;
}

static void answer(struct profcol_http_call *call, const char *body)
{
	const struct profcol_http_answer answer = {
		.size = sizeof(answer),
		.reply = { .status = 200, .body = strdup(body), .length = strlen(body) },
		.policy = "default-src 'self'",
		.headers = "X-Of-This-Reply: yes\r\n",
	};

	http_answer(call, &answer);
}

static int setup(void **state)
{
	static struct http_fixture fixture;

	http_fixture_init(&fixture);
	fixture.settings.take = take;
	http_fixture_open(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	http_fixture_deinit(*state);
	return 0;
}

static void send_request(int fd, const char *request)
{
	assert_int_equal(http_client_send(fd, request, strlen(request)), 0);
}

static void a_call_has_what_the_client_said(void **state)
{
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *reply = NULL;
	struct profcol_http_call *call;

	send_request(fd, "GET /a%20b?c=d HTTP/1.1\r\nAuthorization: Bearer  x y\r\n" LAST);
	call = next_call();
	assert_string_equal(call->request.path, "/a b");
	assert_string_equal(call->request.query, "c=d");
	assert_string_equal(call->host, "whoever.example");
	assert_string_equal(call->authorization, "Bearer  x y");
	assert_false(http_is_gone(call));
	answer(call, "late");
	reply = http_client_read_all(fd, NULL);
	assert_int_equal(http_reply_status(reply), 200);
	assert_non_null(strstr(reply, "\r\nContent-Security-Policy: default-src 'self'\r\n"));
	assert_non_null(strstr(reply, "\r\nX-Of-This-Reply: yes\r\n"));
	assert_non_null(strstr(reply, "\r\n\r\nlate"));
}

static void others_are_answered_meanwhile(void **state)
{
	CLEANUP_FD int first = http_client_connect(*state), second = http_client_connect(*state);
	CLEANUP_FREE char *early = NULL, *late = NULL;
	struct profcol_http_call *waits;

	send_request(first, "GET /first HTTP/1.1\r\n" LAST);
	waits = next_call();
	send_request(second, "GET /second HTTP/1.1\r\n" LAST);
	answer(next_call(), "second");
	early = http_client_read_all(second, NULL);
	assert_non_null(strstr(early, "\r\n\r\nsecond"));
	answer(waits, "first");
	late = http_client_read_all(first, NULL);
	assert_non_null(strstr(late, "\r\n\r\nfirst"));
}

static void requests_sent_ahead_wait_for_their_turn(void **state)
{
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *first = NULL, *second = NULL;

	send_request(fd, "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" LAST);
	answer(next_call(), "one");
	first = http_client_read_reply(fd);
	assert_non_null(strstr(first, "\r\n\r\none"));
	answer(next_call(), "two");
	second = http_client_read_all(fd, NULL);
	assert_non_null(strstr(second, "\r\n\r\ntwo"));
}

static void who_leaves_is_known_to_have_left(void **state)
{
	int fd = http_client_connect(*state);
	struct profcol_http_call *call;

	send_request(fd, "GET / HTTP/1.1\r\n" LAST);
	call = next_call();
	close(fd);
	while (!http_is_gone(call))
		sched_yield();
	answer(call, "for nobody");
}

static void the_end_of_the_listener_ends_who_waits(void **state)
{
	CLEANUP_FD int fd = http_client_connect(*state);
	CLEANUP_FREE char *nothing = NULL;
	struct profcol_http_call *call;
	size_t length;

	send_request(fd, "GET / HTTP/1.1\r\n" LAST);
	call = next_call();
	http_fixture_close(*state);
	nothing = http_client_read_all(fd, &length);
	assert_int_equal(length, 0);
	assert_true(http_is_gone(call));
	answer(call, "for nobody");
}

/* An answer that the server's thread never came to is freed with the server. */
static void answers_may_come_until_the_end_of_the_server(void **state)
{
	struct http_fixture *fixture = *state;
	CLEANUP_FD int fd = http_client_connect(fixture);
	struct profcol_http_call *call;

	send_request(fd, "GET / HTTP/1.1\r\n" LAST);
	call = next_call();
	http_fixture_close(fixture);
	answer(call, "for nobody");
	http_server_destroy(TAKE(fixture->server));
}

static void headers_that_nobody_needs_are_refused(void **state)
{
	char request[4096], value[3000];

	memset(value, 'a', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nAuthorization: %s\r\n" LAST, value);
	assert_int_equal(http_client_status(*state, request), 431);
	snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: %.400s\r\n\r\n", value);
	assert_int_equal(http_client_status(*state, request), 431);
	assert_int_equal(http_client_status(*state, "GET / HTTP/1.1\r\nAuthorization: a\r\n"
						    "Authorization: b\r\n" LAST),
			 400);
}

/* Clients that ask and do not read hold no more than that. */
static void replies_that_nobody_takes_are_bounded(void **state)
{
	enum { BYTES = 8 << 20 };
	struct http_fixture *fixture = *state;
	CLEANUP_FD int slow = -1, other = -1;
	CLEANUP_FREE char *reply = NULL;
	CLEANUP_FREE char *body = malloc(BYTES + 1);

	assert_non_null(body);
	memset(body, 'b', BYTES);
	body[BYTES] = '\0';
	http_fixture_close(fixture);
	fixture->settings.output_max_bytes = BYTES + 1000;
	http_fixture_open(fixture);
	slow = http_client_connect_narrow(fixture);
	other = http_client_connect(fixture);
	send_request(slow, "GET / HTTP/1.1\r\n" LAST);
	answer(next_call(), body);
	send_request(other, "GET / HTTP/1.1\r\n" LAST);
	answer(next_call(), body);
	reply = http_client_read_all(other, NULL);
	assert_int_equal(http_reply_status(reply), 503);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_has_what_the_client_said),
		TEST(others_are_answered_meanwhile),
		TEST(requests_sent_ahead_wait_for_their_turn),
		TEST(who_leaves_is_known_to_have_left),
		TEST(the_end_of_the_listener_ends_who_waits),
		TEST(answers_may_come_until_the_end_of_the_server),
		TEST(headers_that_nobody_needs_are_refused),
		TEST(replies_that_nobody_takes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
