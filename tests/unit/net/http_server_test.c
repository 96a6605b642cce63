// SPDX-License-Identifier: Apache-2.0
/* OTLP over HTTP/1.1: what is taken, what is refused and how, and where a request ends. */
#include "client_fixture.h"
#include "server_fixture.h"

#include "base/base.h"
#include "net/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define POST     "POST " TEST_PATH " HTTP/1.1\r\nHost: x\r\n"
#define PROTOBUF "Content-Type: application/x-protobuf\r\n"
#define JSON     "Content-Type: application/json; charset=utf-8\r\n"

static void fixture_begin(struct server_fixture *fixture)
{
	server_fixture_init(fixture);
	fixture->is_http = true;
}

/* ---- a client ---- */

static int client_connect(const struct server_fixture *fixture)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(fixture->endpoint, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void client_say(int fd, const void *bytes, size_t length)
{
	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
}

static void client_say_text(int fd, const char *text)
{
	client_say(fd, text, strlen(text));
}

/* All that comes until the server ends the connection, or @enough is in it; free(). */
static char *client_hear(int fd, const char *enough)
{
	char *heard = calloc(1, 65536);
	size_t length = 0;

	assert_non_null(heard);
	while (length < 65535 && !(enough && strstr(heard, enough))) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t part;

		assert_true(poll(&ready, 1, CALL_PATIENCE_MS) > 0);
		part = read(fd, heard + length, 65535 - length);
		if (part <= 0)
			break;
		length += (size_t)part;
	}
	return heard;
}

/* What a server answers to @text and a body, on a connection of its own that ends then. */
static char *ask(const struct server_fixture *fixture, const char *head, const void *body,
		 size_t length)
{
	CLEANUP_FD int fd = client_connect(fixture);
	CLEANUP_FREE char *text = NULL;

	assert_true(asprintf(&text, "%sConnection: close\r\nContent-Length: %zu\r\n\r\n", head,
			     length) > 0);
	client_say_text(fd, text);
	client_say(fd, body, length);
	return client_hear(fd, NULL);
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

/* ---- taken ---- */

static void protobuf_and_json_are_taken_and_answered_alike(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *protobuf = NULL, *json = NULL;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	protobuf = ask(&fixture, POST PROTOBUF, "ping", 4);
	assert_says(protobuf, "HTTP/1.1 200 OK\r\n");
	assert_says(protobuf, "content-type: application/x-protobuf\r\n");
	json = ask(&fixture, POST JSON, "{}", 2);
	assert_says(json, "HTTP/1.1 200 OK\r\n");
	assert_says(json, "content-type: application/json\r\n");
	assert_says(json, "\r\n\r\n{\"partialSuccess\":{}}");
	assert_int_equal(fixture.bytes, 6);
}

static size_t pack_gzip(const char *text, uint8_t to[256], int bits)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)text,
			    .avail_in = (uInt)strlen(text),
			    .next_out = to,
			    .avail_out = 256 };
	size_t length;

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	length = stream.total_out;
	deflateEnd(&stream);
	return length;
}

static void compressed_bodies_are_inflated_and_unknown_ones_named(void **state)
{
	static const char text[] = "hello hello hello hello";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *gzip = NULL, *zlib = NULL, *zstd = NULL, *other = NULL, *broken = NULL;
	uint8_t packed[256];
	size_t length;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	length = pack_gzip(text, packed, 31);
	gzip = ask(&fixture, POST PROTOBUF "Content-Encoding: gzip\r\n", packed, length);
	assert_says(gzip, "200 OK");
	length = pack_gzip(text, packed, 15);
	zlib = ask(&fixture, POST PROTOBUF "content-encoding: deflate\r\n", packed, length);
	assert_says(zlib, "200 OK");
	length = ZSTD_compress(packed, sizeof(packed), text, strlen(text), 3);
	zstd = ask(&fixture, POST PROTOBUF "Content-Encoding: zstd\r\n", packed, length);
	assert_says(zstd, "200 OK");
	assert_int_equal(fixture.bytes, 3 * strlen(text));
	other = ask(&fixture, POST JSON "Content-Encoding: br\r\n", "x", 1);
	assert_says(other, "HTTP/1.1 400 ");
	assert_says(other, "unsupported Content-Encoding: br; use gzip");
	broken = ask(&fixture, POST PROTOBUF "Content-Encoding: gzip\r\n", "no gzip at all", 14);
	assert_says(broken, "HTTP/1.1 400 ");
	assert_says(broken, "compressed message is broken");
}

static void a_body_may_come_in_chunks(void **state)
{
	static const char request[] = POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\n"
						    "4\r\nping\r\n5;a=b\r\n pong\r\n0\r\n"
						    "Trailer: x\r\n\r\n";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	// However it is cut: in two pieces at each place.
	for (size_t cut = 1; cut < sizeof(request) - 1; cut += 7) {
		CLEANUP_FD int fd = client_connect(&fixture);
		CLEANUP_FREE char *answer = NULL;

		client_say(fd, request, cut);
		client_say(fd, request + cut, sizeof(request) - 1 - cut);
		answer = client_hear(fd, "ping pong");
		assert_says(answer, "200 OK");
		assert_says(answer, "content-length: 9\r\n");
	}
}

static void requests_follow_each_other_on_one_connection(void **state)
{
	static const char request[] = POST PROTOBUF "Content-Length: 4\r\n\r\nping";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *answer = NULL;
	CLEANUP_FD int fd = -1;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	fd = client_connect(&fixture);
	for (int i = 0; i < 3; i++)
		client_say(fd, request, sizeof(request) - 1);
	client_say_text(fd, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
	answer = client_hear(fd, NULL);
	assert_int_equal(fixture.entered, 3);
	assert_says(answer, "404 page not found");
}

static void a_large_body_is_asked_for_first(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *first = NULL, *answer = NULL;
	CLEANUP_FD int fd = -1;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	fd = client_connect(&fixture);
	client_say_text(fd, POST PROTOBUF "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	first = client_hear(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	client_say(fd, "ping", 4);
	answer = client_hear(fd, "ping");
	assert_says(answer, "200 OK");
}

/* ---- refused ---- */

static void what_is_no_otlp_is_refused_as_the_collector_does(void **state)
{
	static const struct {
		const char *request, *status, *text;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: x\r\n", "HTTP/1.1 404 ", "404 page not found" },
		{ "GET " TEST_PATH " HTTP/1.1\r\nHost: x\r\n", "HTTP/1.1 405 ",
		  "405 method not allowed, supported: [POST]" },
		{ POST "Content-Type: text/plain\r\n", "HTTP/1.1 415 ",
		  "415 unsupported media type, supported: [application/json, "
		  "application/x-protobuf]" },
		{ POST, "HTTP/1.1 415 ", "text/plain" },
	};
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *answer = ask(&fixture, cases[i].request, "x", 1);

		assert_says(answer, cases[i].status);
		assert_says(answer, cases[i].text);
	}
	assert_int_equal(fixture.entered, 0);
}

static void where_a_request_ends_must_be_beyond_doubt(void **state)
{
	static const char *const heads[] = {
		POST PROTOBUF "Content-Length: 4\r\nContent-Length: 5\r\n\r\nping",
		POST PROTOBUF "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nping",
		POST PROTOBUF "Transfer-Encoding: gzip, chunked\r\n\r\n",
		POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\nx\r\n",
		POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
		POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\n4\r\npingX\r\n",
		POST PROTOBUF "Content-Length: +4\r\n\r\nping",
		POST PROTOBUF "Content-Length : 4\r\n\r\nping",
		POST PROTOBUF "X: a\r\n b\r\nContent-Length: 4\r\n\r\nping",
		"POST " TEST_PATH " HTTP/1.1\nHost: x\r\n\r\n",
		"POST " TEST_PATH " HTTP/2.0\r\nHost: x\r\n\r\n",
		"POST\r\n\r\n",
		"\x16\x03\x01\x02\r\n\r\n",
	};
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		CLEANUP_FD int fd = client_connect(&fixture);
		CLEANUP_FREE char *answer = NULL;

		client_say_text(fd, heads[i]);
		// The connection ends, so that nothing is taken for a second request.
		answer = client_hear(fd, NULL);
		if (strncmp(answer, "HTTP/1.1 4", 10) != 0 &&
		    strncmp(answer, "HTTP/1.1 5", 10) != 0)
			fail_msg("%zu: '%s'", i, answer);
		assert_null(strstr(answer + 9, "HTTP/1.1"));
	}
	assert_int_equal(fixture.entered, 0);
}

static void what_passes_is_503_with_a_time(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *json = NULL, *protobuf = NULL;

	(void)state;
	fixture_begin(&fixture);
	fixture.say = (struct net_answer){ .code = NET_UNAVAILABLE,
					   .message = (char *)"say \"no\"",
					   .has_retry = true,
					   .retry_delay_ns = 2500000000 };
	server_fixture_start(&fixture);
	json = ask(&fixture, POST JSON, "{}", 2);
	assert_says(json, "HTTP/1.1 503 Service Unavailable\r\n");
	assert_says(json, "retry-after: 3\r\n");
	assert_says(json, "{\"code\":14,\"message\":\"say \\\"no\\\"\"}");
	protobuf = ask(&fixture, POST PROTOBUF, "x", 1);
	assert_says(protobuf, "content-type: application/x-protobuf\r\n");
	// google.rpc.Status: code 14, then the message.
	assert_says(protobuf, "\x08\x0e\x12\x08say \"no\"");
}

static void a_body_may_be_as_large_as_the_limit_and_no_larger(void **state)
{
	enum { MOST = 1 << 20 };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *bytes = calloc(1, MOST + 1);
	CLEANUP_FREE char *fits = NULL, *announced = NULL, *chunked = NULL;
	CLEANUP_FD int fd = -1;

	(void)state;
	assert_non_null(bytes);
	fixture_begin(&fixture);
	fixture.http.max_request_body_bytes = MOST;
	server_fixture_start(&fixture);
	fits = ask(&fixture, POST PROTOBUF, bytes, MOST);
	assert_says(fits, "200 OK");
	fd = client_connect(&fixture);
	client_say_text(fd, POST PROTOBUF "Content-Length: 1048577\r\n\r\n");
	announced = client_hear(fd, NULL);
	assert_says(announced, "HTTP/1.1 413 ");
	assert_says(announced, "raise the receiver's max_request_body_size");
	close(fd);
	fd = client_connect(&fixture);
	client_say_text(fd, POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\n100001\r\n");
	client_say(fd, bytes, MOST + 1);
	chunked = client_hear(fd, NULL);
	assert_says(chunked, "HTTP/1.1 413 ");
	assert_int_equal(fixture.entered, 1);
}

/* A body that is complete while it waits for more room than it turned out to need. */
static void a_body_of_unknown_length_may_end_while_it_waits_for_room(void **state)
{
	enum { KIB = 1024, FIRST = 190 * KIB, SECOND = 66 * KIB };
	static const char head[] = POST PROTOBUF "Content-Length: 194560\r\n\r\n";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *bytes = calloc(1, FIRST);
	CLEANUP_FREE char *first_answer = NULL, *second_answer = NULL;
	CLEANUP_FD int first = -1;
	CLEANUP_FD int second = -1;

	(void)state;
	assert_non_null(bytes);
	fixture_begin(&fixture);
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	// There is no connection yet, so nobody looks at it.
	fixture.server->bounds.room_bytes = 400 * KIB;
	first = client_connect(&fixture);
	client_say_text(first, head);
	client_say(first, bytes, FIRST);
	server_fixture_wait_inside(&fixture, 1);
	second = client_connect(&fixture);
	client_say_text(second, POST PROTOBUF "Transfer-Encoding: chunked\r\n\r\n10800\r\n");
	client_say(second, bytes, SECOND);
	client_say_text(second, "\r\n0\r\n\r\n");
	server_fixture_wait_inside(&fixture, 2);
	server_fixture_hold(&fixture, false);
	first_answer = client_hear(first, "\r\n\r\n");
	assert_says(first_answer, "200 OK");
	second_answer = client_hear(second, "\r\n\r\n");
	assert_says(second_answer, "200 OK");
}

/* ---- other origins ---- */

static void scripts_of_allowed_origins_may_send(void **state)
{
	const char *origins[] = { "https://*.example", "http://localhost" };
	const char *headers[] = { "X-Token" };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *preflight = NULL, *denied = NULL, *header = NULL, *actual = NULL;

	(void)state;
	fixture_begin(&fixture);
	fixture.http.cors_named = true;
	fixture.http.cors.allowed_origins = (struct profcol_list){ origins, 2 };
	fixture.http.cors.allowed_headers = (struct profcol_list){ headers, 1 };
	fixture.http.cors.max_age = 7;
	server_fixture_start(&fixture);
	preflight = ask(&fixture,
			"OPTIONS " TEST_PATH " HTTP/1.1\r\nHost: x\r\n"
			"Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n"
			"Access-Control-Request-Headers: x-token\r\n",
			"", 0);
	assert_says(preflight, "HTTP/1.1 204 ");
	assert_says(preflight, "access-control-allow-origin: https://a.example\r\n");
	assert_says(preflight, "access-control-allow-headers: x-token\r\n");
	assert_says(preflight, "access-control-max-age: 7\r\n");
	denied = ask(&fixture,
		     "OPTIONS " TEST_PATH " HTTP/1.1\r\nHost: x\r\n"
		     "Origin: https://evil.test\r\nAccess-Control-Request-Method: POST\r\n",
		     "", 0);
	assert_null(strstr(denied, "access-control-allow-origin"));
	header = ask(&fixture,
		     "OPTIONS " TEST_PATH " HTTP/1.1\r\nHost: x\r\n"
		     "Origin: http://localhost\r\nAccess-Control-Request-Method: POST\r\n"
		     "Access-Control-Request-Headers: x-token, x-other\r\n",
		     "", 0);
	assert_null(strstr(header, "access-control-allow-origin"));
	actual = ask(&fixture, POST PROTOBUF "Origin: http://localhost\r\n", "ping", 4);
	assert_says(actual, "200 OK");
	assert_says(actual, "access-control-allow-origin: http://localhost\r\n");
}

static void configured_headers_are_in_each_answer(void **state)
{
	const char *keys[] = { "X-Served-By" }, *values[] = { "profcol" };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *answer = NULL;

	(void)state;
	fixture_begin(&fixture);
	fixture.http.response_headers = (struct profcol_map){ keys, values, 1 };
	server_fixture_start(&fixture);
	answer = ask(&fixture, POST PROTOBUF, "ping", 4);
	assert_says(answer, "x-served-by: profcol\r\n");
}

static void a_plain_service_takes_any_type_and_answers_in_text(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *taken = NULL, *untyped = NULL, *refused = NULL, *large = NULL;
	CLEANUP_FREE uint8_t *body = calloc(1, (1 << 20) + 1);

	(void)state;
	fixture_begin(&fixture);
	fixture.is_plain = true;
	fixture.http.max_request_body_bytes = 1 << 20;
	server_fixture_start(&fixture);
	taken = ask(&fixture, POST "Content-Type: application/octet-stream\r\n", "ping", 4);
	assert_says(taken, "HTTP/1.1 204 ");
	assert_null(strstr(taken, "content-type"));
	assert_string_equal(taken + strlen(taken) - 4, "\r\n\r\n");
	untyped = ask(&fixture, POST, "ping", 4);
	assert_says(untyped, "HTTP/1.1 204 ");
	large = ask(&fixture, POST, body, (1 << 20) + 1);
	assert_says(large, "HTTP/1.1 413 ");
	assert_says(large, "max_request_body_size");
	fixture.say =
		(struct net_answer){ .code = NET_INVALID_ARGUMENT, .message = "no \"pprof\"" };
	refused = ask(&fixture, POST, "ping", 4);
	assert_says(refused, "HTTP/1.1 400 ");
	assert_says(refused, "content-type: text/plain; charset=utf-8\r\n");
	assert_says(refused, "\r\n\r\nno \"pprof\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(protobuf_and_json_are_taken_and_answered_alike),
		cmocka_unit_test(compressed_bodies_are_inflated_and_unknown_ones_named),
		cmocka_unit_test(a_body_may_come_in_chunks),
		cmocka_unit_test(requests_follow_each_other_on_one_connection),
		cmocka_unit_test(a_large_body_is_asked_for_first),
		cmocka_unit_test(what_is_no_otlp_is_refused_as_the_collector_does),
		cmocka_unit_test(where_a_request_ends_must_be_beyond_doubt),
		cmocka_unit_test(what_passes_is_503_with_a_time),
		cmocka_unit_test(a_body_may_be_as_large_as_the_limit_and_no_larger),
		cmocka_unit_test(a_body_of_unknown_length_may_end_while_it_waits_for_room),
		cmocka_unit_test(scripts_of_allowed_origins_may_send),
		cmocka_unit_test(configured_headers_are_in_each_answer),
		cmocka_unit_test(a_plain_service_takes_any_type_and_answers_in_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
