// SPDX-License-Identifier: Apache-2.0
#include "pages_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { A_MINUTE_AGO = 60 };

static struct pages_fixture *fixture_of(const struct profcol_host *host)
{
	return (struct pages_fixture *)((uintptr_t)host -
					offsetof(struct pages_fixture, fake.host));
}

static struct profcol_service_view *fixture_view(const struct profcol_host *host)
{
	struct pages_fixture *fixture = fixture_of(host);

	if (fixture->no_view)
		return NULL;
	fixture->views++;
	return &fixture->view;
}

static void fixture_view_release(struct profcol_service_view *view)
{
	if (view)
		((struct pages_fixture *)((uintptr_t)view - offsetof(struct pages_fixture, view)))
			->views--;
}

static struct profcol_error *fixture_open(const struct profcol_host *host,
					  const struct profcol_http_settings *settings,
					  struct profcol_http_listener **ret)
{
	struct pages_fixture *fixture = fixture_of(host);

	assert_false(fixture->open);
	fixture->opened = *settings;
	fixture->open = true;
	*ret = (struct profcol_http_listener *)fixture;
	return NULL;
}

static void fixture_close(struct profcol_http_listener *listener)
{
	if (listener)
		((struct pages_fixture *)listener)->open = false;
}

static void set_texts(const struct profcol_option *options, char *fields)
{
	for (const struct profcol_option *option = options; option->key; option++) {
		char *field = fields + option->offset;

		if (option->type == PROFCOL_OPTION_NESTED)
			set_texts(option->nested, field);
		else if (option->type == PROFCOL_OPTION_STRING ||
			 option->type == PROFCOL_OPTION_SECRET)
			*(const char **)(void *)field =
				option->fallback && option->fallback[0] != '"' ? option->fallback
									       : "";
	}
}

static struct profcol_component_view component(const char *kind, const char *id)
{
	return (struct profcol_component_view){
		.kind = kind,
		.id = id,
		.status = PROFCOL_STATUS_OK,
		.since_unix_ns = clock_realtime_ns() - A_MINUTE_AGO * UINT64_C(1000000000),
		.message = "",
	};
}

static void init_view(struct pages_fixture *fixture)
{
	uint64_t start = clock_realtime_ns() - (A_MINUTE_AGO + 1) * UINT64_C(1000000000);

	fixture->raw[0] = component("receiver", "profiling");
	fixture->raw[1] = component("processor", "filter");
	fixture->raw[1].mutates = true;
	fixture->raw[2] = component("exporter", "pprof/node");
	fixture->merged[0] = component("receiver", "otlp");
	fixture->merged[1] = component("exporter", "debug");
	fixture->extensions[0] = component("extension", "health_check");
	fixture->pipelines[0] = (struct profcol_pipeline_view){
		.id = "profiles/raw",
		.mutates = true,
		.components = fixture->raw,
		.receiver_count = 1,
		.processor_count = 1,
		.exporter_count = 1,
	};
	fixture->pipelines[1] = (struct profcol_pipeline_view){
		.id = "profiles",
		.components = fixture->merged,
		.receiver_count = 1,
		.exporter_count = 1,
	};
	fixture->view = (struct profcol_service_view){
		.version = "1.2.3",
		.start_unix_ns = start,
		.ready = true,
		.ready_unix_ns = start + 500000000,
		.pipelines = fixture->pipelines,
		.pipeline_count = 2,
		.extensions = fixture->extensions,
		.extension_count = 1,
	};
}

void pages_fixture_init(struct pages_fixture *fixture, const struct profcol_component *type)
{
	*fixture = (struct pages_fixture){ 0 };
	fake_host_init(&fixture->fake, type);
	fixture->fake.host.view = fixture_view;
	fixture->fake.host.view_release = fixture_view_release;
	fixture->fake.host.http_open = fixture_open;
	fixture->fake.host.http_close = fixture_close;
	set_texts(type->options, fixture->fake.config);
	init_view(fixture);
}

void pages_fixture_deinit(struct pages_fixture *fixture)
{
	fake_host_shutdown(&fixture->fake);
	assert_false(fixture->open);
	assert_int_equal(fixture->views, 0);
	fake_host_deinit(&fixture->fake);
}

void pages_fixture_set(struct pages_fixture *fixture, enum profcol_status status,
		       uint64_t since_unix_ns, const char *message)
{
	fixture->raw[2].status = status;
	fixture->raw[2].since_unix_ns = since_unix_ns;
	fixture->raw[2].message = message;
}

char *pages_fixture_ask(struct pages_fixture *fixture, const char *path_and_query, int *status_ret)
{
	CLEANUP_FREE char *path = strdup(path_and_query);
	char *query = strchrnul(path, '?');
	struct profcol_http_request request = { .path = path, .query = query };
	struct profcol_http_reply reply = { .status = 200 };

	if (*query) {
		*query = '\0';
		request.query = query + 1;
	}
	assert_true(fixture->open);
	fixture->opened.handle(fixture->opened.context, &request, &reply);
	assert_true(reply.body || !reply.length);
	reply.body = realloc(reply.body, reply.length + 1);
	assert_non_null(reply.body);
	reply.body[reply.length] = '\0';
	*status_ret = reply.status;
	return reply.body;
}
