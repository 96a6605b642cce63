/* SPDX-License-Identifier: Apache-2.0 */
/* The extension's configuration. Private to extensions/health_check. */
#pragma once

#include "confighttp/confighttp.h"

#include <profcol/errors.h>
#include <profcol/options.h>

#include <stdbool.h>
#include <stdint.h>

struct response_body_config {
	const char *healthy, *unhealthy;
};

struct check_pipeline_config {
	bool enabled;
	const char *interval;
	int64_t exporter_failure_threshold;
};

/* Which errors make a part count as unhealthy. */
struct component_health_config {
	bool include_permanent_errors, include_recoverable_errors;
	uint64_t recovery_duration_ns; /* how long a recoverable one may last */
};

struct page_config {
	bool enabled;
	const char *path;
	bool include_attributes;
};

/* Version 2's server. */
struct http_config {
	struct confighttp_server_config server;
	struct page_config status, config;
};

struct grpc_config {
	bool unread; /* its keys are not looked at */
};

struct health_check_config {
	struct confighttp_server_config server; /* version 1's, as the next two */
	const char *path;
	bool response_body_named;
	struct response_body_config response_body;
	struct check_pipeline_config check_collector_pipeline;
	struct component_health_config component_health;
	bool use_v2;
	bool http_named;
	struct http_config http;
	bool grpc_named;
	struct grpc_config grpc;
};

extern const struct profcol_option health_check_options[];

/* CONFIG, each message starting with its key. */
PROFCOL_MUST_CHECK struct profcol_error *
health_check_config_validate(const struct health_check_config *config);

/* What is given and does nothing here, each in a line of the log. */
void health_check_config_log_ineffective(const struct health_check_config *config,
					 const struct profcol_logger *logger);
