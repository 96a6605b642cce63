/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of `service` as option tables, for decoding and for the schema. What
 * pipelines and extensions are, tables cannot say: their contents are not in here,
 * nor those of `telemetry.resource`, nor what is accepted without effect.
 */
#pragma once

#include "config.h"

/* One of `service.telemetry.metrics.readers`. */
struct reader_config {
	bool pull_named, prometheus_named, periodic_named;
	const char *host;
	int64_t port;
	bool without_scope_info, without_type_suffix, without_units;
	struct profcol_list included, excluded; /* of with_resource_constant_labels */
};

enum { SERVICE_HOST_MAX = 253 }; /* characters of a reader's host, as long as names can be */

/* What the tables describe. */
struct service_config {
	struct config_service service;   /* .logs.level and .logs.encoding: indices of words */
	struct profcol_sections readers; /* struct reader_config */
	int traces_level;
	struct profcol_list propagators;
};

/* `service`, relative to struct service_config. */
extern const struct profcol_option service_options[];

/* What the words of logs.level and logs.encoding mean, by their index. */
enum profcol_level service_log_level(int word);
enum config_encoding service_log_encoding(int word);
