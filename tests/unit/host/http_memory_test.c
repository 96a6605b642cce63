// SPDX-License-Identifier: Apache-2.0
/*
 * Listeners, connections and pages with the first, the second, ... allocation failing: linked with
 * --wrap, so that it holds for libevent and jansson too. All on one thread.
 */
#include "extensions/health_check/answers.h"
#include "extensions/zpages/pages.h"
#include "host/http/connection.h"
#include "host/http/listener.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);

static unsigned int until_failure; /* allocations that succeed before one fails; 0 = all do */

static bool fails_now(void)
{
	return until_failure && --until_failure == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *pointer, size_t bytes)
{
	return fails_now() ? NULL : __real_realloc(pointer, bytes);
}

/* Has the round that began with until_failure = n met no failure? */
static bool is_complete(void)
{
	bool complete = until_failure > 0;

	until_failure = 0;
	return complete;
}

static void page(void *context, const struct profcol_http_request *request,
		 struct profcol_http_reply *reply)
{
	(void)context;
	(void)request;
	reply->body = strdup("page");
	reply->length = reply->body ? 4 : 0;
}

static void every_allocation_of_a_listener_may_fail(void **state)
{
	static const char *const names[] = { "A" }, *const values[] = { "b" };
	const struct profcol_http_settings settings = {
		.size = sizeof(settings),
		.endpoint = "localhost:0",
		.min_version = "1.2",
		.handle = page,
		.headers = { names, values, 1 },
	};
	struct event_base *base = event_base_new();
	struct http_connection_list leaving;
	bool complete = false;

	(void)state;
	http_connection_list_init(&leaving);
	for (unsigned int round = 1; !complete; round++) {
		struct profcol_http_listener *listener = NULL;
		struct profcol_error *error;
		bool attached = false;

		until_failure = round;
		error = http_listener_create(&settings, &listener);
		if (!error) {
			attached = http_listener_attach(listener, base);
			http_listener_detach(listener, &leaving);
		}
		complete = is_complete();
		assert_int_equal(complete, !error && attached);
		http_listener_destroy(listener);
		profcol_error_destroy(error);
	}
	event_base_free(base);
}

/* One request and its reply; the bytes of the reply. */
static size_t exchange(struct event_base *base, const struct http_connection_settings *settings)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct http_connection_list list;
	char bytes[1024];
	ssize_t got;
	int pair[2];

	http_connection_list_init(&list);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(send(pair[1], request, sizeof(request) - 1, 0), sizeof(request) - 1);
	if (http_connection_create(base, pair[0], NULL, settings, &list)) {
		shutdown(pair[1], SHUT_WR);
		// Where libevent cannot wait for the socket any more, and has no way to say so, the
		// timer ends it.
		while (list.count)
			event_base_loop(base, EVLOOP_ONCE);
	}
	got = recv(pair[1], bytes, sizeof(bytes), 0);
	close(pair[1]);
	return got > 0 ? (size_t)got : 0;
}

static void every_allocation_of_a_connection_may_fail(void **state)
{
	static const struct http_connection_settings settings = {
		.handle = page,
		.header_timeout_ns = 200000000,
		.write_timeout_ns = 200000000,
		.idle_timeout_ns = 200000000,
	};
	struct event_base *base = event_base_new();
	bool complete = false;
	size_t full, got;

	(void)state;
	full = exchange(base, &settings);
	assert_true(full > 0);
	for (unsigned int round = 1; !complete; round++) {
		until_failure = round;
		got = exchange(base, &settings);
		complete = is_complete();
		assert_true(got <= full && (got == full || !complete));
	}
	event_base_free(base);
}

static void every_allocation_of_a_page_may_fail(void **state)
{
	static const struct health_check_config config = { 0 };
	static const struct profcol_component_view components[] = {
		{ .kind = "receiver", .id = "r", .message = "" },
		{ .kind = "exporter", .id = "e", .status = PROFCOL_STATUS_OK, .message = "why" },
	};
	static const struct profcol_pipeline_view pipeline = {
		.id = "profiles", .components = components, .receiver_count = 1, .exporter_count = 1
	};
	static const struct profcol_service_view view = {
		.version = "1",
		.pipelines = &pipeline,
		.pipeline_count = 1,
		.extensions = components,
		.extension_count = 1,
	};
	bool complete = false;

	(void)state;
	for (unsigned int round = 1; !complete; round++) {
		struct profcol_http_reply probe = { 0 }, status = { 0 }, html = { 0 };

		until_failure = round;
		answer_probe(&config, &view, 2, &probe);
		answer_status(&config, &view, "verbose", 2, &status);
		pages_answer("/debug/pipelinez", &view, 2, &html);
		complete = is_complete();
		// Never a length without a body; nor an answer that all is well for want of memory.
		assert_true((probe.body || !probe.length) && (status.body || !status.length) &&
			    (html.body || !html.length));
		assert_int_not_equal(status.status, 200);
		free(probe.body);
		free(status.body);
		free(html.body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_of_a_listener_may_fail),
		cmocka_unit_test(every_allocation_of_a_connection_may_fail),
		cmocka_unit_test(every_allocation_of_a_page_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
