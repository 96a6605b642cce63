/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An extension that serves pages, in a host whose HTTP server hands requests over by a call, and
 * whose view of the components is what the test says.
 */
#pragma once

#include "fake_host.h"

#include <profcol/http.h>
#include <profcol/status.h>

struct pages_fixture {
	struct fake_host fake;
	struct profcol_service_view view; /* two pipelines and an extension; all is well */
	struct profcol_component_view raw[3], merged[2], extensions[1];
	struct profcol_pipeline_view pipelines[2];
	bool no_view;                        /* as without memory */
	struct profcol_http_settings opened; /* what http_open was given; texts are borrowed */
	bool open;
	int views; /* taken and not given back */
};

/* Texts have their defaults, as the option table says them; all else is zero. */
void pages_fixture_init(struct pages_fixture *fixture, const struct profcol_component *component);
void pages_fixture_deinit(struct pages_fixture *fixture);

/* Set the status of exporter "pprof/node" in pipeline "profiles/raw". */
void pages_fixture_set(struct pages_fixture *fixture, enum profcol_status status,
		       uint64_t since_unix_ns, const char *message);

/* The reply's body with a NUL: the caller's. @path_and_query: "/status?verbose". */
char *pages_fixture_ask(struct pages_fixture *fixture, const char *path_and_query, int *status_ret);
