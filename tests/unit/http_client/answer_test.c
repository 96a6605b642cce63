// SPDX-License-Identifier: Apache-2.0
/* What servers may send, in pieces of every size, and what they may not. */
#include "http_client/answer.h"
#include "http_client/url.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 64 };

struct taken {
	char text[256];
	size_t length;
	size_t stop_at; /* take no more from so many bytes on; 0 = never */
};

static bool take(void *context, const char *bytes, size_t length)
{
	struct taken *taken = context;

	assert_true(length > 0 && taken->length + length < sizeof(taken->text));
	memcpy(taken->text + taken->length, bytes, length);
	taken->length += length;
	return !taken->stop_at || taken->length < taken->stop_at;
}

/* Feed @text in pieces of @piece bytes, and its end; the first error. */
static struct profcol_error *feed(struct http_answer *answer, const char *text, size_t length,
				  size_t piece)
{
	struct profcol_error *error = NULL;

	for (size_t at = 0; !error && at < length; at += piece)
		error = http_answer_feed(answer, text + at,
					 length - at < piece ? length - at : piece);
	return error ? error : http_answer_end(answer);
}

/* @text is an answer with @status and @body. */
static void expect(const char *text, int status, const char *body)
{
	const struct http_client_request request = { .max_bytes = BODY_MAX };

	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct http_answer answer;
		struct profcol_error *error;

		assert_true(http_answer_init(&answer, &request));
		error = feed(&answer, text, strlen(text), piece);
		if (error)
			fail_msg("%s: %s", text, profcol_error_message(error));
		assert_int_equal(answer.state, HTTP_ANSWER_DONE);
		assert_int_equal(answer.response.status, status);
		assert_string_equal(answer.response.body, body);
		assert_int_equal(answer.response.length, strlen(body));
		http_answer_deinit(&answer);
	}
}

static void expect_error(const char *text, size_t length, enum profcol_code code, const char *words)
{
	const struct http_client_request request = { .max_bytes = BODY_MAX };

	for (size_t piece = 1; piece <= length; piece += piece < 16 ? 1 : 997) {
		struct http_answer answer;
		struct profcol_error *error;

		assert_true(http_answer_init(&answer, &request));
		error = feed(&answer, text, length, piece);
		if (!error)
			fail_msg("not refused: %.60s", text);
		if (profcol_error_code(error) != code ||
		    !strstr(profcol_error_message(error), words))
			fail_msg("%.60s: %s", text, profcol_error_message(error));
		profcol_error_destroy(error);
		http_answer_deinit(&answer);
	}
}

#define EXPECT_BROKEN(text, words) expect_error(text, sizeof(text) - 1, PROFCOL_BAD_DATA, words)
#define EXPECT_CUT(text, words)    expect_error(text, sizeof(text) - 1, PROFCOL_UNAVAILABLE, words)

static void bodies_end_by_length_chunks_or_connection(void **state)
{
	(void)state;
	expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", 200, "hello");
	expect("HTTP/1.0 200\r\n\r\nuntil the end", 200, "until the end");
	expect("HTTP/1.1 200 OK\nContent-length:\t5 \n\nhello", 200, "hello");
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n",
	       200, "abc0123456789");
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 2\r\n\r\n"
	       "1\r\na\r\n0\r\nTrailer: x\r\n\r\n",
	       200, "a");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "");
	expect("HTTP/1.1 204 No Content\r\n\r\nnone of it", 204, "");
	expect("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", 404, "gone");
	expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
	       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	       200, "ok");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok");
}

static void what_is_no_answer_is_refused(void **state)
{
	(void)state;
	EXPECT_BROKEN("SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not begin as HTTP does");
	EXPECT_BROKEN("HTTP/2 200\r\n\r\n", "does not begin");
	EXPECT_BROKEN("HTTP/1.1 2000 OK\r\n\r\n", "does not begin");
	EXPECT_BROKEN("HTTP/1.1 99 Odd\r\n\r\n", "does not begin");
	EXPECT_BROKEN("HTTP/1.1 600 Odd\r\n\r\n", "does not begin");
	EXPECT_BROKEN("HTTP/1.1 200 OK\0\r\n\r\n", "does not begin");
	EXPECT_BROKEN("HTTP/1.1 101 Switching\r\n\r\n", "was not asked for");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n", "no number");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "no number");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "no number");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
		      "no number");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		      "no number");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		      "its Transfer-Encoding is 'gzip'");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "no size");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "no size");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		      "fffffffffffffffff\r\n",
		      "no size");
	EXPECT_BROKEN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		      "longer than it says");
}

static void what_is_too_much_is_refused(void **state)
{
	CLEANUP_FREE char *text = malloc(40000);
	char kept[BODY_MAX + 1] = "";

	(void)state;
	assert_non_null(text);
	strcpy(text, "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n");
	memset(text + strlen(text), 'x', 100);
	text[39 + 65] = '\0';
	expect_error(text, strlen(text), PROFCOL_BAD_DATA, "more than 64 bytes");
	// Of an error it is enough to know how it begins.
	memcpy(text + 9, "503", 3);
	memcpy(kept, text + 39, BODY_MAX);
	expect(text, 503, kept);

	memset(text, 'a', 40000);
	memcpy(text, "HTTP/1.1 200 OK\r\nX: ", 20);
	expect_error(text, 40000, PROFCOL_BAD_DATA, "head has more than 16384 bytes");
	strcpy(text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
	memset(text + strlen(text), 'a', 300);
	expect_error(text, 340, PROFCOL_BAD_DATA, "a line between chunks is too long");
	strcpy(text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
	for (size_t i = 0; i < 100; i++)
		strcat(text, "X: 01234567890123456789012345678901234567890123456789\r\n");
	expect_error(text, strlen(text), PROFCOL_BAD_DATA, "too many headers at its end");
	text[0] = '\0';
	for (size_t i = 0; i < 9; i++)
		strcat(text, "HTTP/1.1 100 Continue\r\n\r\n");
	expect_error(text, strlen(text), PROFCOL_BAD_DATA, "was not asked for");
}

static void answers_that_are_cut_off_are_told(void **state)
{
	(void)state;
	EXPECT_CUT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "in the middle");
	EXPECT_CUT("HTTP/1.1 200 OK\r\nConte", "in the middle");
	EXPECT_CUT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		   "in the middle");
	EXPECT_CUT("HTTP/1.1 100 Continue\r\n\r\n", "without an answer");
}

static void streams_are_passed_on_and_can_be_left(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n";
	struct taken taken = { 0 };
	struct http_client_request request = { .take = take, .context = &taken };
	struct http_answer answer;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		taken = (struct taken){ 0 };
		assert_true(http_answer_init(&answer, &request));
		assert_null(http_answer_feed(&answer, text, sizeof(text) - 1));
		assert_string_equal(taken.text, "one\ntwo\nthree\n");
		assert_int_equal(answer.response.length, 0);
		http_answer_deinit(&answer);
	}
	taken = (struct taken){ .stop_at = 5 };
	assert_true(http_answer_init(&answer, &request));
	assert_null(feed(&answer, text, sizeof(text) - 1, 7));
	assert_int_equal(answer.state, HTTP_ANSWER_DONE);
	assert_true(taken.length >= 5 && taken.length < 14);
	http_answer_deinit(&answer);
	// What is no success is no stream.
	taken = (struct taken){ 0 };
	request.max_bytes = 8;
	assert_true(http_answer_init(&answer, &request));
	assert_null(http_answer_feed(&answer, "HTTP/1.1 410 Gone\r\n\r\n0123456789", 31));
	assert_int_equal(taken.length, 0);
	assert_string_equal(answer.response.body, "01234567");
	// The rest is not waited for: it may have no end.
	assert_int_equal(answer.state, HTTP_ANSWER_DONE);
	http_answer_deinit(&answer);
}

/* Whatever the body's form is, and wherever it is cut into pieces. */
static void errors_without_an_end_are_left(void **state)
{
	static const char *const heads[] = {
		"HTTP/1.1 500 Oh\r\n\r\n",
		"HTTP/1.1 500 Oh\r\nContent-Length: 999999999999\r\n\r\n",
		"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
		"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n",
	};
	static const size_t most[] = { 0, 8 };

	(void)state;
	for (size_t i = 0; i < 4 * 2; i++) {
		const struct http_client_request request = { .max_bytes = most[i % 2] };
		struct http_answer answer;

		assert_true(http_answer_init(&answer, &request));
		assert_null(http_answer_feed(&answer, heads[i / 2], strlen(heads[i / 2])));
		for (size_t byte = 0; byte < 8; byte++) {
			if (answer.state == HTTP_ANSWER_DONE)
				break;
			assert_null(http_answer_feed(&answer, "x", 1));
		}
		assert_int_equal(answer.state, HTTP_ANSWER_DONE);
		assert_int_equal(answer.response.status, 500);
		assert_int_equal(answer.response.length, request.max_bytes);
		http_answer_deinit(&answer);
	}
}

static void headers_are_found_whatever_their_case(void **state)
{
	char head[] = "HTTP/1.1 200 OK\r\nX-A: \r\nmetadata-flavor:  Google \r\nB: 1\r\nb: 2\r\n"
		      "\r\n";
	const struct http_client_response response = { .head = head };
	const char *value;

	(void)state;
	assert_int_equal(http_client_response_header(&response, "Metadata-Flavor", &value), 6);
	assert_memory_equal(value, "Google", 6);
	assert_int_equal(http_client_response_header(&response, "B", &value), 1);
	assert_memory_equal(value, "1", 1);
	assert_int_equal(http_client_response_header(&response, "X-A", &value), 0);
	assert_int_equal(http_client_response_header(&response, "Metadata", &value), 0);
	assert_null(value);
}

static void urls_have_their_parts(void **state)
{
	static const struct {
		const char *text, *host, *port, *target;
		bool tls, literal;
	} rows[] = {
		{ "http://a", "a", "80", "", false, false },
		{ "https://a/", "a", "443", "/", true, false },
		{ "http://169.254.169.254/latest?x=1", "169.254.169.254", "80", "/latest?x=1",
		  false, true },
		{ "https://[fd00:ec2::254]:6443/v1", "fd00:ec2::254", "6443", "/v1", true, true },
		{ "http://metadata.google.internal:8080?q", "metadata.google.internal", "8080",
		  "?q", false, false },
	};
	static const char *const others[] = {
		"",
		"ftp://a",
		"a:80",
		"http://",
		"http:///x",
		"http://:80/",
		"http://a:/",
		"http://a:0/",
		"http://a:65536/",
		"http://a:8x/",
		"http://a:123456/",
		"http://[::1/",
		"http://[a]/",
		"http://[::1]x/",
		"http://u:p@a/",
		"http://a#x",
		"http://a/ b",
		"http://a/\r\nX: y",
		"http://a\x80/",
	};
	struct http_url url;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(http_url_parse(&url, rows[i].text));
		assert_string_equal(url.host, rows[i].host);
		assert_string_equal(url.port, rows[i].port);
		assert_string_equal(url.target, rows[i].target);
		assert_int_equal(url.tls, rows[i].tls);
		assert_int_equal(url.literal, rows[i].literal);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (http_url_parse(&url, others[i]))
			fail_msg("taken for a URL: %s", others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_end_by_length_chunks_or_connection),
		cmocka_unit_test(what_is_no_answer_is_refused),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(answers_that_are_cut_off_are_told),
		cmocka_unit_test(streams_are_passed_on_and_can_be_left),
		cmocka_unit_test(errors_without_an_end_are_left),
		cmocka_unit_test(headers_are_found_whatever_their_case),
		cmocka_unit_test(urls_have_their_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
