// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <string.h>

#define DEFAULT_ENDPOINT "localhost:13133"

#define CONFIG struct health_check_config
#define HTTP   struct http_config
#define PAGE   struct page_config
#define HEALTH struct component_health_config
#define CHECK  struct check_pipeline_config
#define BODY   struct response_body_config

static const struct profcol_option response_body_options[] = {
	PROFCOL_OPTION_STRING("healthy", BODY, healthy, NULL, "with code 200"),
	PROFCOL_OPTION_STRING("unhealthy", BODY, unhealthy, NULL, "with code 503"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option check_options[] = {
	PROFCOL_OPTION_BOOL("enabled", CHECK, enabled, "false", "no effect"),
	PROFCOL_OPTION_STRING("interval", CHECK, interval, "5m", "no effect"),
	PROFCOL_OPTION_INT("exporter_failure_threshold", CHECK, exporter_failure_threshold, "5",
			   INT32_MIN, INT32_MAX, "no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option component_health_options[] = {
	PROFCOL_OPTION_BOOL("include_permanent_errors", HEALTH, include_permanent_errors, "false",
			    "a component that has given up is unhealthy"),
	PROFCOL_OPTION_BOOL(
		"include_recoverable_errors", HEALTH, include_recoverable_errors, "false",
		"a component in trouble for longer than recovery_duration is unhealthy"),
	PROFCOL_OPTION_DURATION("recovery_duration", HEALTH, recovery_duration_ns, "5m", 0, 0,
				"how long trouble may last before it counts"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option status_options[] = {
	PROFCOL_OPTION_BOOL("enabled", PAGE, enabled, "true", "serve the statuses"),
	PROFCOL_OPTION_STRING("path", PAGE, path, "/status", "begins with /"),
	PROFCOL_OPTION_BOOL("include_attributes", PAGE, include_attributes, "true",
			    "no effect: statuses have no attributes"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option config_options[] = {
	PROFCOL_OPTION_BOOL("enabled", PAGE, enabled, "false",
			    "not supported: use 'profcol print-config'"),
	PROFCOL_OPTION_STRING("path", PAGE, path, "/config", "no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option http_options[] = {
	CONFIGHTTP_SERVER_OPTIONS(HTTP, server, DEFAULT_ENDPOINT),
	PROFCOL_OPTION_NESTED("status", HTTP, status, status_options,
			      "the statuses of pipelines and components"),
	PROFCOL_OPTION_NESTED("config", HTTP, config, config_options, "the configuration"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option grpc_options[] = { PROFCOL_OPTION_END };

const struct profcol_option health_check_options[] = {
	CONFIGHTTP_SERVER_OPTIONS(CONFIG, server, DEFAULT_ENDPOINT),
	PROFCOL_OPTION_STRING("path", CONFIG, path, "/",
			      "of the answer for probes; one that ends in / also answers below it"),
	PROFCOL_OPTION_SECTION("response_body", CONFIG, response_body, response_body_named,
			       response_body_options,
			       "answer probes with these texts instead of JSON"),
	PROFCOL_OPTION_NESTED("check_collector_pipeline", CONFIG, check_collector_pipeline,
			      check_options,
			      "no effect, as in the Collector; see component_health"),
	PROFCOL_OPTION_NESTED("component_health", CONFIG, component_health,
			      component_health_options, "which errors the status page counts"),
	PROFCOL_OPTION_BOOL("use_v2", CONFIG, use_v2, "false",
			    "serve the status page of the section http, and nothing else"),
	PROFCOL_OPTION_SECTION("http", CONFIG, http, http_named, http_options, "with use_v2"),
	PROFCOL_OPTION_SECTION("grpc", CONFIG, grpc, grpc_named, grpc_options,
			       "not supported: an error with use_v2, else no effect"),
	PROFCOL_OPTION_END,
};

static struct profcol_error *validate_page(const struct page_config *page, const char *key)
{
	if (!page->enabled || page->path[0] == '/')
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG, "%s: path must start with /; write /%.100s",
				    key, page->path);
}

static struct profcol_error *validate_v2(const struct health_check_config *config)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *fault = NULL;
	struct profcol_error *error = NULL;

	if (config->grpc_named)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "grpc: profcol has no gRPC health service; leave it "
					     "out, and probe http");
	if (!config->http_named)
		return error ? error
			     : profcol_error_create(PROFCOL_CONFIG,
						    "use_v2: must specify at least one protocol; "
						    "add 'http: {}'");
	fault = confighttp_server_validate(&config->http.server);
	if (fault)
		error = profcol_error_join(
			error, profcol_error_create(profcol_error_code(fault), "http.%s",
						    profcol_error_message(fault)));
	if (config->http.config.enabled)
		error = profcol_error_join(
			error, profcol_error_create(PROFCOL_CONFIG,
						    "http.config.enabled: profcol does not serve "
						    "its configuration; use 'profcol "
						    "print-config'"));
	return profcol_error_join(error, validate_page(&config->http.status, "http.status.path"));
}

struct profcol_error *health_check_config_validate(const struct health_check_config *config)
{
	const struct page_config page = { .enabled = true, .path = config->path };

	if (config->use_v2)
		return validate_v2(config);
	return profcol_error_join(confighttp_server_validate(&config->server),
				  validate_page(&page, "path"));
}

/* With use_v2 the server is that of the section http. */
static void log_unused_top(const struct health_check_config *config,
			   const struct profcol_logger *logger)
{
	if (strcmp(config->server.endpoint, DEFAULT_ENDPOINT) != 0)
		profcol_log_warn(logger, "'endpoint' has no effect with 'use_v2: true'; set "
					 "'http::endpoint'");
	if (strcmp(config->path, "/") != 0)
		profcol_log_warn(
			logger,
			"'path' has no effect with 'use_v2: true'; set 'http::status::path'");
	if (config->server.tls_named)
		profcol_log_warn(logger,
				 "'tls' has no effect with 'use_v2: true'; set 'http::tls'");
	if (config->response_body_named)
		profcol_log_warn(logger, "'response_body' has no effect with 'use_v2: true'");
}

void health_check_config_log_ineffective(const struct health_check_config *config,
					 const struct profcol_logger *logger)
{
	if (config->check_collector_pipeline.enabled)
		profcol_log_warn(logger,
				 "'check_collector_pipeline' has no effect, as in the Collector; "
				 "'component_health' makes /status count errors");
	if (config->use_v2) {
		confighttp_server_log_ineffective(&config->http.server, logger);
		log_unused_top(config, logger);
		return;
	}
	confighttp_server_log_ineffective(&config->server, logger);
	if (config->http_named || config->grpc_named)
		profcol_log_info(logger, "'http' and 'grpc' have no effect without 'use_v2: true'");
}
