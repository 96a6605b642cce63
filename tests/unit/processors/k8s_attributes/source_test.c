// SPDX-License-Identifier: Apache-2.0
/*
 * A source asks a server that answers, breaks off, refuses, or goes silent. The test takes six
 * seconds: libcurl waits by the system's clock, and a second is the least that Retry-After can ask.
 */
#include "cluster_json.h"
#include "source_fixture.h"

#include "processors/k8s_attributes/source_feed.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_QUERY    "fieldSelector=spec.nodeName%3Dn1 "
#define FIRST_LIST    "GET /api/v1/pods?limit=500&resourceVersion=0&" NODE_QUERY
#define OUTDATED_LIST "GET /api/v1/pods?limit=500&resourceVersion=&" NODE_QUERY
#define WATCH_FROM(version)                                                                        \
	"GET /api/v1/pods?watch=true&resourceVersion=" version "&allowWatchBookmarks=true&"        \
	"timeoutSeconds="

/* A stream that ends when the server hangs up, as if a connection broke. */
#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define OPEN_STREAM                                                                                \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n"

enum { LONG_MS = 60000 };

#define EMPTY_LIST(list, version)                                                                  \
	{ .request = list, .status = 200, .body = POD_LIST(version, "", "") }
#define SILENT_WATCH(version)                                                                      \
	{ .request = WATCH_FROM(version), .raw = OPEN_STREAM, .hold_ms = LONG_MS }

static void a_list_comes_in_pages_and_the_watch_in_pieces(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = FIRST_LIST,
		  .needs = "Accept: application/json\r\n",
		  .status = 200,
		  .body = POD_LIST("7", ",\"continue\":\"m1+=\"",
				   SHOP_POD "," SMALL_POD("a", "u-a", "5")) },
		{ .request = "GET /api/v1/pods?limit=500&continue=m1%2B%3D&" NODE_QUERY,
		  .needs = "Authorization: Bearer one\r\n",
		  .status = 200,
		  .body = POD_LIST("7", "", SMALL_POD("b", "u-b", "6")) },
		{ .request = WATCH_FROM("7"),
		  .raw = OPEN_STREAM WATCH_EVENT("MODIFIED", SMALL_POD("b", "u-b", "8"))
			  WATCH_EVENT("DELETED", SMALL_POD("a", "u-a", "9")) BOOKMARK("50"),
		  .byte_ms = 1,
		  .hold_ms = LONG_MS },
		{ .request = NULL },
	};
	struct source_fixture *fixture;
	struct k8s_source_counts counts;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "remove pod a\n");
	assert_string_equal(fixture->log, "begin pod \n"
					  "put pod shop-7d9-x2\n"
					  "put pod a\n"
					  "put pod b\n"
					  "end pod \n"
					  "put pod b\n"
					  "remove pod a\n");
	assert_true(k8s_source_is_synced(fixture->source, UINT32_MAX));
	counts = k8s_source_counts(fixture->source);
	assert_int_equal(counts.lists, 1);
	assert_int_equal(counts.watches, 1);
	assert_int_equal(counts.failures + counts.oversized + counts.incomplete, 0);
	assert_true(counts.bytes > strlen(SHOP_POD));
	source_fixture_destroy(fixture);
}

/* Ends in the middle of an event, then as the server ends it by itself, then by a gap. */
static void a_watch_goes_on_where_it_broke_off(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		{ .request = WATCH_FROM("7"),
		  .raw = OPEN_STREAM BOOKMARK("50") WATCH_EVENT(
			  "ADDED",
			  SMALL_POD("a", "u-a", "51")) "{\"type\":\"ADDED\",\"object\":{"
						       "\"metadata\":{\"resourceVersion\":\"52" },
		{ .request = WATCH_FROM("51"), .status = 200, .body = BOOKMARK("60") },
		{ .request = WATCH_FROM("60"), .raw = STREAM "5\r\n{\"typ\r\n" },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, WATCH_FROM("60"), 3);
	assert_int_equal(stand_in_count(fixture->server, FIRST_LIST), 1);
	assert_int_equal(stand_in_count(fixture->server, WATCH_FROM("7")), 1);
	assert_int_equal(stand_in_count(fixture->server, WATCH_FROM("51")), 1);
	// That it cannot be taken up any more is told in the end.
	source_fixture_await(fixture, "failed pod : watch pods: 'http://");
	assert_int_equal(strncmp(fixture->log, "begin pod \nend pod \nput pod a\nfailed",
				 strlen("begin pod \nend pod \nput pod a\nfailed")),
			 0);
	source_fixture_destroy(fixture);
}

static const struct stand_in_route outdated_twice[] = {
	EMPTY_LIST(FIRST_LIST, "7"),
	EMPTY_LIST(OUTDATED_LIST, "20"),
	{ .request = WATCH_FROM("7"),
	  .status = 200,
	  .raw = OPEN_STREAM WATCH_EVENT("ERROR", STATUS("410", "Expired", "too old version")),
	  .hold_ms = LONG_MS },
	{ .request = WATCH_FROM("20"), .status = 410, .body = STATUS("410", "Gone", "gone") },
	{ .request = NULL },
};

static void what_is_outdated_is_listed_again(void **state)
{
	static const struct stand_in_route later[] = {
		{ .request = OUTDATED_LIST,
		  .status = 200,
		  .body = POD_LIST("30", "", SMALL_POD("c", "u-c", "29")) },
		{ .request = WATCH_FROM("20"), .status = 410 },
		SILENT_WATCH("30"),
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(outdated_twice);
	fixture->settings.pause_min_ns = 200 * MILLISECOND;
	fixture->settings.pause_max_ns = 800 * MILLISECOND;
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, OUTDATED_LIST, 3);
	// The first at once, the others after pauses: nobody is asked without end.
	assert_true(stand_in_count(fixture->server, OUTDATED_LIST) <= 5);
	stand_in_change(fixture->server, later);
	source_fixture_await_requests(fixture, WATCH_FROM("30"), 1);
	assert_int_equal(source_fixture_count(fixture, "put pod c\nend pod \n"), 1);
	source_fixture_destroy(fixture);
}

/* Each watch begins with something, and breaks off: that is no success, which would forgive it. */
static void what_is_outdated_behind_an_event_is_no_busy_loop(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		EMPTY_LIST(OUTDATED_LIST, "7"),
		{ .request = WATCH_FROM("7"),
		  .status = 200,
		  .body = BOOKMARK("8") WATCH_EVENT("ERROR", STATUS("410", "Expired", "old")) },
		{ .request = NULL },
	};
	uint64_t begin = clock_monotonic_ns();
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.pause_min_ns = 100 * MILLISECOND;
	fixture->settings.pause_max_ns = 400 * MILLISECOND;
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, OUTDATED_LIST, 4);
	// The first at once, then after at least 50, 100 and 200 ms.
	assert_true(clock_monotonic_ns() - begin >= 300 * MILLISECOND);
	source_fixture_await(fixture, "failed pod : watch pods: the server says: old");
	source_fixture_destroy(fixture);
}

/* Where the server is started again, the watch goes on without a list. */
static void a_watch_that_is_taken_up_is_told(void **state)
{
	static const struct stand_in_route refusing[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		{ .request = WATCH_FROM("7"), .raw = "HTTP/1.1 2" },
		{ .request = NULL },
	};
	static const struct stand_in_route answering[] = {
		{ .request = WATCH_FROM("7"),
		  .raw = OPEN_STREAM BOOKMARK("8") BOOKMARK("9"),
		  .hold_ms = LONG_MS },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(refusing);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "failed pod : watch pods: ");
	stand_in_change(fixture->server, answering);
	source_fixture_await(fixture, "works pod \n");
	assert_int_equal(source_fixture_count(fixture, "works"), 1);
	assert_int_equal(source_fixture_count(fixture, "end pod"), 1);
	source_fixture_destroy(fixture);
}

/* The call is let in, but what comes says that nobody is known by that token. */
static void a_refusal_in_a_watch_is_told(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST("GET /api/v1/pods?limit=", "7"),
		EMPTY_LIST("GET /api/v1/pods?resourceVersion=", "7"),
		{ .request = WATCH_FROM("7"),
		  .status = 200,
		  .body = WATCH_EVENT("ERROR", STATUS("401", "Unauthorized", "who")) },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "failed pod : watch pods: the server says: who; the token is "
				      "not");
	assert_true(k8s_source_counts(fixture->source).failures >= 3);
	source_fixture_destroy(fixture);
}

/* A mark of a page can be too old as well: what came before is begun anew. */
static void a_list_that_outlives_its_pages_begins_anew(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = FIRST_LIST,
		  .status = 200,
		  .body = POD_LIST("7", ",\"continue\":\"m\"", SMALL_POD("a", "u-a", "5")) },
		{ .request = "GET /api/v1/pods?limit=500&continue=m&", .status = 410 },
		{ .request = OUTDATED_LIST,
		  .status = 200,
		  .body = POD_LIST("9", "", SMALL_POD("b", "u-b", "8")) },
		SILENT_WATCH("9"),
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, WATCH_FROM("9"), 1);
	assert_string_equal(fixture->log,
			    "begin pod \nput pod a\nbegin pod \nput pod b\nend pod \n");
	source_fixture_destroy(fixture);
}

/* As when the cluster's store was put back to an older state: its versions are those of others. */
static void a_watch_that_is_refused_begins_anew(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		{ .request = WATCH_FROM("7"), .status = 500 },
		{ .request = "GET /api/v1/pods?resourceVersion=7&" NODE_QUERY, .status = 504 },
		EMPTY_LIST(OUTDATED_LIST, "3"),
		SILENT_WATCH("3"),
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, WATCH_FROM("3"), 1);
	assert_int_equal(source_fixture_count(fixture, "end pod"), 2);
	source_fixture_destroy(fixture);
}

static void what_is_outdated_for_ever_is_told(void **state)
{
	static const struct stand_in_route routes[] = { { .request = "GET ", .status = 410 },
							{ .request = NULL } };
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "answers with status 410");
	source_fixture_destroy(fixture);
}

static void a_token_is_read_again(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = FIRST_LIST,
		  .needs = "Authorization: Bearer two\r\n",
		  .status = 200,
		  .body = POD_LIST("7", "", "") },
		{ .request = WATCH_FROM("7"),
		  .needs = "Authorization: Bearer three\r\n",
		  .raw = OPEN_STREAM WATCH_EVENT("ADDED", SMALL_POD("c", "u-c", "8")),
		  .hold_ms = LONG_MS },
		{ .request = "GET ",
		  .status = 401,
		  .body = STATUS("401", "Unauthorized", "Unauthorized") },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.complaint_ns = 1;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "answers with status 401 to /api/v1/pods: Unauthorized; the "
				      "token is not");
	// The first refusal is no complaint: the token may just have been renewed.
	assert_true(stand_in_count(fixture->server, FIRST_LIST) >= 2);
	source_fixture_write(fixture->token, "two\n");
	source_fixture_await(fixture, "end pod ");
	source_fixture_await(fixture, "failed pod : watch pods: ");
	source_fixture_write(fixture->token, "three");
	source_fixture_await(fixture, "put pod c\n");
	assert_int_equal(source_fixture_count(fixture, "Bearer"), 0);
	source_fixture_destroy(fixture);
}

#define FORBIDDEN                                                                                  \
	"pods is forbidden: User \\\"system:serviceaccount:obs:profcol\\\" cannot list resource "  \
	"\\\"pods\\\" in API group \\\"\\\" at the cluster scope"

static void a_missing_right_is_told_once_with_its_remedy(void **state)
{
	static const struct stand_in_route refusing[] = {
		{ .request = "GET ", .status = 403, .body = STATUS("403", "Forbidden", FORBIDDEN) },
		{ .request = NULL },
	};
	static const struct stand_in_route granted[] = { EMPTY_LIST(FIRST_LIST, "7"),
							 SILENT_WATCH("7"),
							 { .request = NULL } };
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(refusing);
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, FIRST_LIST, 4);
	source_fixture_await(
		fixture, "status 403 to /api/v1/pods: pods is forbidden: User "
			 "\"system:serviceaccount:obs:profcol\" cannot list resource \"pods\" in "
			 "API group \"\" at the cluster scope; add this to the rules of a "
			 "ClusterRole that is bound to the user named:\n"
			 "- apiGroups: [\"\"]\n"
			 "  resources: [pods]\n"
			 "  verbs: [get, list, watch]\n");
	assert_int_equal(source_fixture_count(fixture, "failed"), 1);
	assert_true(k8s_source_counts(fixture->source).failures >= 3);
	assert_false(k8s_source_is_synced(fixture->source, UINT32_MAX));
	stand_in_change(fixture->server, granted);
	source_fixture_await(fixture, "end pod ");
	source_fixture_destroy(fixture);
}

static void a_failure_that_lasts_is_told_again(void **state)
{
	static const struct stand_in_route routes[] = { { .request = "GET ", .status = 500 },
							{ .request = NULL } };
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.complaint_ns = 100 * MILLISECOND;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "failed pod : list pods: 'http://127.0.0.1:");
	while (source_fixture_count(fixture, "status 500 to /api/v1/pods") < 2)
		source_fixture_await_requests(fixture, FIRST_LIST,
					      stand_in_count(fixture->server, FIRST_LIST) + 1);
	source_fixture_destroy(fixture);
}

static void pauses_grow_up_to_a_limit(void **state)
{
	static const uint64_t most_ms[] = { 100, 100, 200, 400, 800, 1000, 1000 };
	const struct hub hub = { .pause_min_ns = 100 * MILLISECOND,
				 .pause_max_ns = 1000 * MILLISECOND };
	uint64_t different = 0, before = 0;

	(void)state;
	for (unsigned int failures = 0; failures < 7; failures++) {
		for (unsigned int i = 0; i < 100; i++) {
			uint64_t pause = hub_pause(&hub, failures);

			assert_in_range(pause, most_ms[failures] * MILLISECOND / 2,
					most_ms[failures] * MILLISECOND);
			different += pause != before;
			before = pause;
		}
	}
	assert_true(different > 600);
	assert_true(hub_pause(&hub, UINT32_MAX) <= 1000 * MILLISECOND);
}

static void a_server_may_ask_for_a_pause(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET ", .status = 429, .headers = "Retry-After: 1\r\n" },
		{ .request = NULL },
	};
	struct source_fixture *fixture;
	uint64_t begin = clock_monotonic_ns();

	(void)state;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, FIRST_LIST, 2);
	assert_true(clock_monotonic_ns() - begin >= 990 * MILLISECOND);
	source_fixture_destroy(fixture);
}

static void a_huge_pod_does_not_hide_the_others(void **state)
{
	char *list = malloc(3 << 20), *at = list;
	struct stand_in_route routes[] = { { .request = FIRST_LIST, .status = 200 },
					   SILENT_WATCH("7"),
					   { .request = NULL } };
	struct source_fixture *fixture;

	(void)state;
	at += sprintf(at,
		      "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s,{\"metadata\":"
		      "{\"name\":\"huge\",\"uid\":\"u\"},\"spec\":{\"x\":[0",
		      SMALL_POD("a", "u-a", "5"));
	for (size_t i = 0; i < 100000; i++)
		at += sprintf(at, ",{\"y\":%zu}", i);
	sprintf(at, "]}},%s]}", SMALL_POD("b", "u-b", "6"));
	routes[0].body = list;
	fixture = source_fixture_create(routes);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "end pod ");
	assert_string_equal(fixture->log, "begin pod \nput pod a\nput pod b\nend pod \n");
	assert_int_equal(k8s_source_counts(fixture->source).oversized, 1);
	source_fixture_destroy(fixture);
	free(list);
}

/* Start a source of @routes, which asks for @request, and stop it: how long that took. */
static uint64_t stop_amid(const struct stand_in_route *routes, const char *request)
{
	struct source_fixture *fixture = source_fixture_create(routes);

	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, request, 1);
	return source_fixture_destroy(fixture);
}

/*
 * An end takes milliseconds. An end that waits for a server or for a pause takes a second at the
 * least, in every try; on a busy machine at least one of many tries is quick.
 */
static void nothing_keeps_a_source_from_its_end(void **state)
{
	static const struct stand_in_route cases[][3] = {
		{ { .request = "GET ", .status = 200, .delay_ms = LONG_MS }, { .request = NULL } },
		{ { .request = "GET ", .status = 200, .body = "    ", .byte_ms = LONG_MS },
		  { .request = NULL } },
		{ EMPTY_LIST(FIRST_LIST, "7"), SILENT_WATCH("7"), { .request = NULL } },
		{ { .request = "GET ", .status = 503, .headers = "Retry-After: 9999\r\n" },
		  { .request = NULL } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *request = i == 2 ? WATCH_FROM("7") : FIRST_LIST;
		int tries = 20;

		while (stop_amid(cases[i], request) >= 1000 * MILLISECOND)
			assert_true(--tries);
	}
}

static void a_silent_server_is_left(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		SILENT_WATCH("7"),
		EMPTY_LIST("GET /api/v1/pods?resourceVersion=", "8"),
		{ .request = WATCH_FROM("8"),
		  .raw = OPEN_STREAM BOOKMARK("9"),
		  .hold_ms = LONG_MS },
		SILENT_WATCH("9"),
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.silence_ns = 50 * MILLISECOND;
	source_fixture_start(fixture);
	// Not even a bookmark: then what is, is asked for again. With one it is enough to go on.
	source_fixture_await_requests(fixture, WATCH_FROM("9"), 1);
	assert_int_equal(stand_in_count(fixture->server, WATCH_FROM("7")), 1);
	assert_true(k8s_source_counts(fixture->source).failures >= 2);
	source_fixture_destroy(fixture);
}

static void a_watch_that_ends_at_once_is_no_busy_loop(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		{ .request = WATCH_FROM("7"), .status = 200, .body = BOOKMARK("8") },
		{ .request = WATCH_FROM("8"), .status = 200 },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.pause_min_ns = fixture->settings.pause_max_ns = 200 * MILLISECOND;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "ends as soon as it has begun");
	assert_in_range(stand_in_count(fixture->server, WATCH_FROM("8")), 3, 9);
	source_fixture_destroy(fixture);
}

static void a_watch_that_ends_behind_an_event_is_tried_less_and_less(void **state)
{
	static const struct stand_in_route routes[] = {
		EMPTY_LIST(FIRST_LIST, "7"),
		{ .request = WATCH_FROM("7"), .status = 200, .body = BOOKMARK("7") },
		{ .request = NULL },
	};
	uint64_t begin = clock_monotonic_ns();
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.pause_min_ns = 50 * MILLISECOND;
	fixture->settings.pause_max_ns = 1000 * MILLISECOND;
	source_fixture_start(fixture);
	source_fixture_await_requests(fixture, WATCH_FROM("7"), 5);
	// At least 25, 50, 100 and 200 ms.
	assert_true(clock_monotonic_ns() - begin >= 350 * MILLISECOND);
	source_fixture_destroy(fixture);
}

static void what_is_no_list_is_told(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = FIRST_LIST, .status = 200, .body = "<html>one</html>" },
		{ .request = NULL },
	};
	static const struct stand_in_route without_version[] = {
		{ .request = FIRST_LIST, .status = 200, .body = "{\"items\":[]}" },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.complaint_ns = 1;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "/api/v1/pods': the answer is broken: lexical error");
	stand_in_change(fixture->server, without_version);
	source_fixture_await(fixture, "the list has no resourceVersion");
	assert_int_equal(source_fixture_count(fixture, "end pod"), 0);
	source_fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_comes_in_pages_and_the_watch_in_pieces),
		cmocka_unit_test(a_watch_goes_on_where_it_broke_off),
		cmocka_unit_test(what_is_outdated_is_listed_again),
		cmocka_unit_test(what_is_outdated_behind_an_event_is_no_busy_loop),
		cmocka_unit_test(a_watch_that_is_taken_up_is_told),
		cmocka_unit_test(a_refusal_in_a_watch_is_told),
		cmocka_unit_test(a_list_that_outlives_its_pages_begins_anew),
		cmocka_unit_test(a_watch_that_is_refused_begins_anew),
		cmocka_unit_test(what_is_outdated_for_ever_is_told),
		cmocka_unit_test(a_token_is_read_again),
		cmocka_unit_test(a_missing_right_is_told_once_with_its_remedy),
		cmocka_unit_test(a_failure_that_lasts_is_told_again),
		cmocka_unit_test(pauses_grow_up_to_a_limit),
		cmocka_unit_test(a_server_may_ask_for_a_pause),
		cmocka_unit_test(a_huge_pod_does_not_hide_the_others),
		cmocka_unit_test(nothing_keeps_a_source_from_its_end),
		cmocka_unit_test(a_silent_server_is_left),
		cmocka_unit_test(a_watch_that_ends_at_once_is_no_busy_loop),
		cmocka_unit_test(a_watch_that_ends_behind_an_event_is_tried_less_and_less),
		cmocka_unit_test(what_is_no_list_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
