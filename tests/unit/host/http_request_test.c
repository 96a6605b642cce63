// SPDX-License-Identifier: Apache-2.0
/* The syntax of requests: what is understood, what is refused, and with which status. */
#include "http/request.h"

#include "base/base.h"
#include "http_head/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define HOST "Host: x\r\n"

/* A copy without a byte to spare, so that reading beyond it is noticed. */
static int parse(const char *head, struct http_request *request)
{
	size_t length = strlen(head);
	CLEANUP_FREE char *bytes = malloc(length);

	assert_non_null(bytes);
	memcpy(bytes, head, length);
	assert_int_equal(http_head_find_end(bytes, length, 0), length);
	return http_request_parse(bytes, length, request);
}

static void the_parts_of_a_target_are_found(void **state)
{
	static const struct {
		const char *target, *path, *query;
	} cases[] = {
		{ "/", "/", "" },
		{ "/status?verbose", "/status", "verbose" },
		{ "/a%2Fb%20c?x=%2F", "/a/b c", "x=%2F" },
		{ "/%41%7a?", "/Az", "" },
		{ "/a?b?c", "/a", "b?c" },
		{ "http://h:1/p?q", "/p", "q" },
		{ "HTTP://evil.example", "/", "" },
		{ "http://h?q", "/", "q" },
		{ "/../../etc/passwd", "/../../etc/passwd", "" },
		{ "//x", "//x", "" },
		{ "/%C3%A9", "/\303\251", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_request request;
		char head[256];

		snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "\r\n", cases[i].target);
		assert_int_equal(parse(head, &request), 0);
		assert_string_equal(request.path, cases[i].path);
		assert_string_equal(request.query, cases[i].query);
	}
}

static void who_may_ask_again(void **state)
{
	static const struct {
		const char *head;
		bool keep_alive;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", true },
		{ "GET / HTTP/1.1\n"
		  "host:x\n\n",
		  true },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\n" HOST "connection: x ,CLOSE\t, y\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_request request;

		assert_int_equal(parse(cases[i].head, &request), 0);
		assert_int_equal(request.keep_alive, cases[i].keep_alive);
		assert_false(request.head);
	}
}

static void what_is_no_request_for_a_page_is_refused(void **state)
{
	static const struct {
		const char *head;
		int status;
	} cases[] = {
		{ "\r\n\r\n", 400 },
		{ "GET\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET / \r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /  HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", 400 },
		{ "G\001T / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /\001 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /\377 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%0 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /a%00b HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET x HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET https://h/ HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n\r\n", 400 },              // no Host
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400 }, // two of them
		{ "GET / HTTP/1.1\r\n" HOST "nonsense\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "a b: c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "a : c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST ": c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "a: b\r\n c\r\n\r\n", 400 }, // continued
		{ "GET / HTTP/1.1\r\n" HOST "a: \001\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "a: b\rc: d\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 00\r\n\r\n",
		  400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n", 413 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 413 },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n", 405 },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "CONNECT h:1 HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "get / HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "PRI * HTTP/2.0\r\n\r\n", 505 },
		{ "GET / HTTP/1.2\r\n" HOST "\r\n", 505 },
		{ "GET / HTTQ/1.1\r\n" HOST "\r\n", 400 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_request request;
		int status = parse(cases[i].head, &request);

		if (status != cases[i].status)
			fail_msg("%d instead of %d for: %s", status, cases[i].status,
				 cases[i].head);
		assert_false(request.keep_alive);
	}
}

static void a_request_has_bounds(void **state)
{
	struct http_request request;
	char target[REQUEST_TARGET_MAX + 2], head[HTTP_HEAD_MOST];
	size_t length;

	(void)state;
	memset(target, 'a', sizeof(target));
	target[0] = '/';
	target[REQUEST_TARGET_MAX] = '\0';
	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
	assert_int_equal(parse(head, &request), 0);
	assert_int_equal(strlen(request.path), REQUEST_TARGET_MAX);
	target[REQUEST_TARGET_MAX] = 'a';
	target[REQUEST_TARGET_MAX + 1] = '\0';
	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
	assert_int_equal(parse(head, &request), 414);
	target[1] = '?';
	target[REQUEST_TARGET_MAX] = '\0';
	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
	assert_int_equal(parse(head, &request), 0);
	assert_int_equal(strlen(request.query), REQUEST_TARGET_MAX - 2);

	length = (size_t)snprintf(head, sizeof(head), "GET / HTTP/1.1\r\n" HOST);
	for (size_t i = 1; i < HTTP_FIELDS_MOST; i++)
		length += (size_t)snprintf(head + length, sizeof(head) - length, "a: b\r\n");
	strcpy(head + length, "\r\n");
	assert_int_equal(parse(head, &request), 0);
	strcpy(head + length, "a: b\r\n\r\n");
	assert_int_equal(parse(head, &request), 431);
}

static void head_is_get_without_a_body(void **state)
{
	struct http_request request;

	(void)state;
	assert_int_equal(parse("HEAD /x HTTP/1.1\r\n" HOST "\r\n", &request), 0);
	assert_true(request.head);
	assert_string_equal(request.path, "/x");
	assert_int_equal(parse("HEAD /%zz HTTP/1.1\r\n" HOST "\r\n", &request), 400);
	assert_true(request.head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_of_a_target_are_found),
		cmocka_unit_test(who_may_ask_again),
		cmocka_unit_test(what_is_no_request_for_a_page_is_refused),
		cmocka_unit_test(a_request_has_bounds),
		cmocka_unit_test(head_is_get_without_a_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
