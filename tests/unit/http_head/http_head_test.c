// SPDX-License-Identifier: Apache-2.0
/* Heads of HTTP/1.1: what a request says, what of it is refused, and what a reply begins with. */
#include "http_head/http_head.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE "POST /p HTTP/1.1\r\n"
#define HOST "Host: x\r\n"

/* A copy without a byte to spare, so that reading beyond it is noticed; free(). */
static char *exact_copy(const char *text)
{
	size_t length = strlen(text);
	char *bytes = malloc(length);

	assert_non_null(bytes);
	return memcpy(bytes, text, length);
}

static int status_of(const char *text, bool bare_lf)
{
	CLEANUP_FREE char *bytes = exact_copy(text);
	struct http_head head;

	return http_head_parse(bytes, strlen(text), bare_lf, &head);
}

static void assert_text(struct http_text text, const char *wanted)
{
	if (!http_text_is(text, wanted))
		fail_msg("'%.*s' instead of '%s'", (int)text.length, text.at, wanted);
}

static void the_parts_of_a_head_are_found(void **state)
{
	static const char text[] = "GET /a%20b?c=d?e HTTP/1.1\r\n"
				   "Host:x\r\nX-One: \t two  words\t\r\nEmpty:\r\n\r\n";
	CLEANUP_FREE char *bytes = exact_copy(text);
	struct http_head head;

	(void)state;
	assert_int_equal(http_head_parse(bytes, strlen(text), false, &head), 0);
	assert_text(head.method, "GET");
	assert_text(head.target, "/a%20b?c=d?e");
	assert_text(head.path, "/a%20b");
	assert_text(head.query, "c=d?e");
	assert_true(head.is_1_1 && head.has_host && !head.is_head);
	assert_int_equal(head.field_count, 3);
	assert_text(head.fields[0].name, "Host");
	assert_text(head.fields[0].value, "x");
	assert_text(head.fields[1].value, "two  words");
	assert_text(head.fields[2].name, "Empty");
	assert_text(head.fields[2].value, "");
}

static void the_name_of_a_target_is_left_out(void **state)
{
	static const struct {
		const char *target, *path, *query;
	} cases[] = {
		{ "http://h:1/p?q", "/p", "q" },
		{ "HTTP://evil.example", "/", "" },
		{ "http://h?q", "/", "q" },
		{ "http://", "/", "" },
		{ "https://h/p", "https://h/p", "" },
		{ "*", "*", "" },
		{ "h:1", "h:1", "" },
		{ "//x", "//x", "" },
		{ "?q", "", "q" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head head;
		char text[128];

		snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", cases[i].target);
		assert_int_equal(http_head_parse(text, strlen(text), false, &head), 0);
		assert_text(head.target, cases[i].target);
		assert_text(head.path, cases[i].path);
		assert_text(head.query, cases[i].query);
	}
}

static void what_two_readers_could_take_differently_is_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "\r\n\r\n", 400 },
		{ "\r\n", 400 },
		{ "GET", 400 },
		{ "GET / HTTP/1.1\r\n", 400 }, // no end
		{ "GET\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET / \r\n\r\n", 400 },
		{ " GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n\r\n", 400 },
		{ "GET /  HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n\r\n", 400 },
		{ "GET / x HTTP/1.1\r\n\r\n", 400 },
		{ "GET\t/ HTTP/1.1\r\n\r\n", 400 },
		{ "G(T / HTTP/1.1\r\n\r\n", 400 },
		{ "GET /\001 HTTP/1.1\r\n\r\n", 400 },
		{ "GET /\t HTTP/1.1\r\n\r\n", 400 },
		{ "GET /\377 HTTP/1.1\r\n\r\n", 400 },
		{ "GET /\r HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\r\n\r\n", 400 },
		{ "GET / http/1.1\r\n\r\n", 400 },
		{ "GET / HTTQ/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.2\r\n\r\n", 505 },
		{ "PRI * HTTP/2.0\r\n\r\n", 505 },
		{ LINE HOST HOST "\r\n", 400 },
		{ LINE "nonsense\r\n\r\n", 400 },
		{ LINE "a b: c\r\n\r\n", 400 },
		{ LINE "a : c\r\n\r\n", 400 },
		{ LINE ": c\r\n\r\n", 400 },
		{ LINE " a: c\r\n\r\n", 400 },
		{ LINE "a: b\r\n c\r\n\r\n", 400 }, // continued
		{ LINE "a: \001\r\n\r\n", 400 },
		{ LINE "a: b\rc: d\r\n\r\n", 400 },
		{ LINE "a: \177\r\n\r\n", 400 },
		{ LINE "Content-Length: x\r\n\r\n", 400 },
		{ LINE "Content-Length: -1\r\n\r\n", 400 },
		{ LINE "Content-Length: +1\r\n\r\n", 400 },
		{ LINE "Content-Length: 1, 1\r\n\r\n", 400 },
		{ LINE "Content-Length:\r\n\r\n", 400 },
		{ LINE "Content-Length: 1000000000000000000\r\n\r\n", 400 },
		{ LINE "Content-Length: 4\r\ncontent-length: 5\r\n\r\n", 400 },
		{ LINE "Content-Length: 4\r\nContent-Length: 4\r\n\r\n", 400 },
		{ LINE "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ LINE "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", 400 },
		{ "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ LINE "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
		{ LINE "Transfer-Encoding: chunked, chunked\r\n\r\n", 501 },
		{ LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501 },
		{ LINE "Transfer-Encoding: \013chunked\r\n\r\n", 400 },
		{ LINE "Transfer-Encoding:\r\n\r\n", 501 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int strict = status_of(cases[i].text, false),
		    lenient = status_of(cases[i].text, true);

		if (strict != cases[i].status || lenient != cases[i].status)
			fail_msg("%d and %d instead of %d for: %s", strict, lenient,
				 cases[i].status, cases[i].text);
	}
}

static void lines_end_in_lf_alone_where_the_caller_allows_it(void **state)
{
	static const char *const texts[] = {
		"GET / HTTP/1.1\nhost:x\n\n",
		"GET / HTTP/1.1\r\nhost:x\n\r\n",
		"GET / HTTP/1.1\nhost:x\r\n\r\n",
		"GET / HTTP/1.1\r\nhost:x\r\n\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(status_of(texts[i], true), 0);
		assert_int_equal(status_of(texts[i], false), 400);
	}
}

static void a_nul_ends_nothing(void **state)
{
	static const char name[] = LINE "a\0: b\r\n\r\n", value[] = LINE "a: b\0\r\n\r\n";
	struct http_head head;

	(void)state;
	assert_int_equal(http_head_parse(name, sizeof(name) - 1, true, &head), 400);
	assert_int_equal(http_head_parse(value, sizeof(value) - 1, true, &head), 400);
}

static void fields_say_what_becomes_of_the_connection(void **state)
{
	static const struct {
		const char *fields;
		bool closes, keeps;
	} cases[] = {
		{ "", false, false },
		{ "Connection: close\r\n", true, false },
		{ "connection: x ,CLOSE\t, y\r\n", true, false },
		{ "Connection: closed\r\n", false, false },
		{ "Connection: Keep-Alive\r\n", false, true },
		{ "Connection: te\r\nConnection: close\r\n", true, false },
		{ "Connection: keep-alive, close\r\n", true, true },
		{ "Connection: ,,\r\n", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head head;
		char text[128];

		snprintf(text, sizeof(text), LINE "%s\r\n", cases[i].fields);
		assert_int_equal(http_head_parse(text, strlen(text), false, &head), 0);
		assert_int_equal(head.closes, cases[i].closes);
		assert_int_equal(head.keeps, cases[i].keeps);
	}
}

static void fields_say_where_the_body_ends(void **state)
{
	static const char length[] = LINE "CONTENT-LENGTH: 0000000000000012\r\n\r\n";
	static const char chunks[] = LINE "transfer-encoding: Chunked\r\n\r\n";
	static const char asks[] = LINE "Expect: 100-Continue\r\n\r\n";
	static const char old[] = "POST /p HTTP/1.0\r\nExpect: 100-continue\r\n\r\n";
	struct http_head head;

	(void)state;
	assert_int_equal(http_head_parse(length, sizeof(length) - 1, false, &head), 0);
	assert_true(head.has_length && !head.is_chunked && !head.wants_continue);
	assert_int_equal(head.length, 12);
	assert_int_equal(http_head_parse(chunks, sizeof(chunks) - 1, false, &head), 0);
	assert_true(head.is_chunked && !head.has_length);
	assert_int_equal(http_head_parse(asks, sizeof(asks) - 1, false, &head), 0);
	assert_true(head.wants_continue && !head.is_chunked && !head.has_length);
	assert_int_equal(http_head_parse(old, sizeof(old) - 1, false, &head), 0);
	assert_false(head.wants_continue);
}

static void there_is_a_bound_for_fields(void **state)
{
	struct http_head head;
	char text[1024] = LINE;
	size_t length = strlen(text);

	(void)state;
	for (size_t i = 0; i < HTTP_FIELDS_MOST; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "a: b\r\n");
	strcpy(text + length, "\r\n");
	assert_int_equal(http_head_parse(text, strlen(text), false, &head), 0);
	assert_int_equal(head.field_count, HTTP_FIELDS_MOST);
	strcpy(text + length, "a: b\r\n\r\n");
	assert_int_equal(http_head_parse(text, strlen(text), false, &head), 431);
}

static void the_end_is_found_however_the_bytes_come(void **state)
{
	static const char *const heads[] = {
		"GET / HTTP/1.1\r\na: b\r\n\r\n",
		"GET / HTTP/1.1\n\n",
		"a\r\n\n",
		"a\n\r\n",
		"a\r\nb\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		size_t length = strlen(heads[i]);

		for (size_t first = 0; first < length; first++) {
			assert_int_equal(http_head_find_end(heads[i], first, 0), 0);
			assert_int_equal(http_head_find_end(heads[i], length, first), length);
		}
	}
	assert_int_equal(http_head_find_end("\r\r\n\r", 4, 0), 0);
	assert_int_equal(http_head_find_end("a\n\nb\n\n", 6, 0), 3);
}

static void a_reply_to_head_has_no_body_whatever_is_wrong(void **state)
{
	static const char *const texts[] = { "HEAD /x HTTP/1.1\r\n\r\n", "HEAD \001\r\n\r\n",
					     "HEAD /x HTTP/1.1\r\n:\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct http_head head = { 0 };

		assert_int_equal(http_head_parse(texts[i], strlen(texts[i]), false, &head),
				 i ? 400 : 0);
		assert_true(head.is_head);
	}
	assert_int_equal(status_of("HEAD", false), 400);
}

static void a_reply_begins_with_words_and_the_time(void **state)
{
	char date[HTTP_DATE_SIZE], word[4], month[4], zone[4];
	int day, year, hour, minute, second, end = 0;

	(void)state;
	assert_string_equal(http_status_reason(404), "Not Found");
	assert_string_equal(http_status_reason(299), "");
	http_date_print(date);
	assert_int_equal(sscanf(date, "%3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3s%n", word,
				&day, month, &year, &hour, &minute, &second, zone, &end),
			 8);
	assert_int_equal(strlen("Sun, 06 Nov 1994 08:49:37 GMT"), end);
	assert_int_equal(strlen(date), end);
	assert_string_equal(zone, "GMT");
	assert_true(day >= 1 && day <= 31 && year >= 2020 && hour < 24 && minute < 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_of_a_head_are_found),
		cmocka_unit_test(the_name_of_a_target_is_left_out),
		cmocka_unit_test(what_two_readers_could_take_differently_is_refused),
		cmocka_unit_test(lines_end_in_lf_alone_where_the_caller_allows_it),
		cmocka_unit_test(a_nul_ends_nothing),
		cmocka_unit_test(fields_say_what_becomes_of_the_connection),
		cmocka_unit_test(fields_say_where_the_body_ends),
		cmocka_unit_test(there_is_a_bound_for_fields),
		cmocka_unit_test(the_end_is_found_however_the_bytes_come),
		cmocka_unit_test(a_reply_to_head_has_no_body_whatever_is_wrong),
		cmocka_unit_test(a_reply_begins_with_words_and_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
