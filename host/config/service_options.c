// SPDX-License-Identifier: Apache-2.0
#include "service_options.h"

#define CONFIG struct service_config
#define READER struct reader_config

/* A section whose fields lie in the same struct. */
#define PART(key_, table_, doc_)                                                                   \
	{ .key = (key_), .type = PROFCOL_OPTION_NESTED, .nested = (table_), .doc = (doc_) }

/* The same for one whose presence counts. */
#define NAMED_PART(key_, named_, table_, doc_)                                                     \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_NESTED,                                                           \
	  .nested = (table_),                                                                      \
	  .named = PROFCOL_FIELD(READER, named_, bool) + 1,                                        \
	  .null_is_absent = true,                                                                  \
	  .doc = (doc_) }

static const struct profcol_option unread[] = { PROFCOL_OPTION_END };

/* zap's words; the empty one is its zero value. */
static const char *const log_levels[] = { "",        "debug",  "info",  "warn",  "error",
					  "warning", "dpanic", "panic", "fatal", NULL };
static const char *const encodings[] = { "", "console", "json", NULL };
static const char *const metrics_levels[] = { "none", "basic", "normal", "detailed", NULL };

enum profcol_level service_log_level(int word)
{
	static const enum profcol_level levels[] = { PROFCOL_INFO, PROFCOL_DEBUG, PROFCOL_INFO,
						     PROFCOL_WARN, PROFCOL_ERROR, PROFCOL_WARN };

	return (size_t)word < sizeof(levels) / sizeof(levels[0]) ? levels[word] : PROFCOL_ERROR;
}

enum config_encoding service_log_encoding(int word)
{
	return word == 2 ? CONFIG_JSON : CONFIG_CONSOLE;
}

static const struct profcol_option sampling_options[] = {
	PROFCOL_OPTION_BOOL("enabled", CONFIG, service.logs.sampling, "true",
			    "leave out lines of a message that repeats itself"),
	PROFCOL_OPTION_DURATION("tick", CONFIG, service.logs.sampling_tick_ns, "10s", 0, 0,
				"the time in which lines are counted; 0 leaves nothing out"),
	PROFCOL_OPTION_INT("initial", CONFIG, service.logs.sampling_initial, "10", 0, INT64_MAX,
			   "lines of a message in this time that are all written"),
	PROFCOL_OPTION_INT("thereafter", CONFIG, service.logs.sampling_thereafter, "100", 0,
			   INT64_MAX, "of the following ones each so many-th is written; 0: none"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option logs_options[] = {
	PROFCOL_OPTION_ENUM("level", CONFIG, service.logs.level, "info", log_levels,
			    "lines below it are not written"),
	PROFCOL_OPTION_BOOL("development", CONFIG, service.logs.development, "false",
			    "accepted, without effect"),
	PROFCOL_OPTION_ENUM("encoding", CONFIG, service.logs.encoding, "console", encodings,
			    "the form of a line"),
	PROFCOL_OPTION_BOOL("disable_caller", CONFIG, service.logs.disable_caller, "false",
			    "leave out file and line of the code"),
	PROFCOL_OPTION_BOOL("disable_stacktrace", CONFIG, service.logs.disable_stacktrace, "false",
			    "accepted: there are no stack traces"),
	PART("sampling", sampling_options, "what becomes of messages that repeat themselves"),
	PROFCOL_OPTION_LIST("output_paths", CONFIG, service.logs.output_paths, "[stderr]",
			    "where lines go: stderr, stdout, paths"),
	PROFCOL_OPTION_LIST("error_output_paths", CONFIG, service.logs.error_output_paths,
			    "[stderr]", "where it is said that a line could not be written"),
	PART("initial_fields", unread, "fields that every line carries"),
	PART("processors", unread, "accepted, without effect"),
	PROFCOL_OPTION_BOOL("disable_zap_resource", CONFIG, service.logs.disable_zap_resource,
			    "false", "leave the resource out of the lines"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option label_options[] = {
	PROFCOL_OPTION_LIST("included", READER, included, NULL, "attributes, with * as a joker"),
	PROFCOL_OPTION_LIST("excluded", READER, excluded, NULL, "those of them that are left out"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option prometheus_options[] = {
	PROFCOL_OPTION_STRING("host", READER, host, "localhost", "address to listen on"),
	PROFCOL_OPTION_INT("port", READER, port, "8888", 0, 65535, "port to listen on; 0: any"),
	PROFCOL_OPTION_BOOL("without_scope_info", READER, without_scope_info, "true",
			    "leave out the labels otel_scope_name and otel_scope_version"),
	PROFCOL_OPTION_BOOL("without_type_suffix", READER, without_type_suffix, "true",
			    "counters do not end in _total"),
	PROFCOL_OPTION_BOOL("without_units", READER, without_units, "true",
			    "names do not end in their unit"),
	PART("with_resource_constant_labels", label_options,
	     "attributes of the resource that every metric has as labels"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option exporter_options[] = {
	NAMED_PART("prometheus", prometheus_named, prometheus_options,
		   "serve metrics to Prometheus"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option pull_options[] = {
	PART("exporter", exporter_options, "how metrics are served"),
	PART("producers", unread, "accepted, without effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option reader_options[] = {
	NAMED_PART("pull", pull_named, pull_options, "metrics are fetched"),
	NAMED_PART("periodic", periodic_named, unread, "accepted, without effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option metrics_options[] = {
	PROFCOL_OPTION_ENUM("level", CONFIG, service.metrics.level, "normal", metrics_levels,
			    "how many metrics there are; none: no readers either"),
	PROFCOL_OPTION_SECTIONS("readers", CONFIG, readers, struct reader_config, reader_options,
				"who may have them; when not given, Prometheus at localhost:8888"),
	PART("views", unread, "accepted at level detailed, without effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option traces_options[] = {
	PROFCOL_OPTION_ENUM("level", CONFIG, traces_level, "normal", metrics_levels,
			    "accepted, without effect"),
	PROFCOL_OPTION_LIST("propagators", CONFIG, propagators, NULL, "accepted, without effect"),
	PART("processors", unread, "accepted, without effect"),
	PART("limits", unread, "accepted, without effect"),
	PART("sampler", unread, "accepted, without effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option telemetry_options[] = {
	PART("logs", logs_options, "what profcol says"),
	PART("metrics", metrics_options, "what profcol counts"),
	PART("traces", traces_options, "accepted: profcol has no traces of its own"),
	PART("resource", unread, "attributes that say which profcol this is"),
	PROFCOL_OPTION_END,
};

const struct profcol_option service_options[] = {
	PART("extensions", unread, "extensions that run, in order"),
	PART("pipelines", unread, "what flows where"),
	PART("telemetry", telemetry_options, "what profcol tells of itself"),
	PROFCOL_OPTION_DURATION("shutdown_timeout", CONFIG, service.shutdown_timeout_ns, "5s", 0, 0,
				"how long the end may take, for all components together"),
	PROFCOL_OPTION_LIST("plugins", CONFIG, service.plugins, NULL,
			    "directories with components as shared objects"),
	PROFCOL_OPTION_END,
};
