// SPDX-License-Identifier: Apache-2.0
#include "sample_components.h"

static const struct profcol_option sampler_options[] = {
	PROFCOL_OPTION_INT("samples_per_second", struct sampler_config, samples_per_second, "20", 1,
			   1000, "samples per second and CPU"),
	PROFCOL_OPTION_DURATION("reporter_interval", struct sampler_config, reporter_interval_ns,
				"5s", 100 * PROFCOL_MILLISECOND, PROFCOL_HOUR,
				"how long a batch is collected"),
	PROFCOL_OPTION_BOOL("send_idle_frames", struct sampler_config, send_idle_frames, "false",
			    "export samples of idle CPUs"),
	PROFCOL_OPTION_LIST("tracers", struct sampler_config, tracers, "[native, kernel]",
			    "which unwinders run"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option retention_options[] = {
	PROFCOL_OPTION_INT("max_files", struct retention_config, max_files, "100", 0, INT64_MAX,
			   "files kept, 0 for all"),
	PROFCOL_OPTION_DURATION("max_age", struct retention_config, max_age_ns, "0", 0, 0,
				"files kept this long, 0 for ever"),
	PROFCOL_OPTION_BYTES("max_bytes", struct retention_config, max_bytes, "1GiB", 4096, 0,
			     "space for all files"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option file_options[] = {
	PROFCOL_OPTION_STRING("directory", struct file_config, directory, "/var/lib/profcol",
			      "where files are written"),
	PROFCOL_OPTION_DURATION("interval", struct file_config, interval_ns, "60s", PROFCOL_SECOND,
				0, "one file per interval"),
	PROFCOL_OPTION_NESTED("retention", struct file_config, retention, retention_options,
			      "which files are deleted"),
	PROFCOL_OPTION_INT("compression_level", struct file_config, compression_level, "6", 0, 9,
			   "of gzip"),
	PROFCOL_OPTION_END,
};

static const char *const verbosities[] = { "basic", "normal", "detailed", NULL };

static const struct profcol_option printer_options[] = {
	PROFCOL_OPTION_ENUM("verbosity", struct printer_config, verbosity, "basic", verbosities,
			    "how much is printed"),
	PROFCOL_OPTION_INT("top", struct printer_config, top, "0", 0, 1000, "hottest functions"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option tls_options[] = {
	PROFCOL_OPTION_BOOL("insecure", struct tls_config, insecure, NULL, "without TLS"),
	PROFCOL_OPTION_STRING("ca_file", struct tls_config, ca_file, NULL,
			      "PEM file | system store"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option ping_options[] = {
	PROFCOL_OPTION_INT("every", struct ping_config, every, "5", 1, 10, "seconds"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option rule_options[] = {
	PROFCOL_OPTION_REQUIRED_STRING("key", struct rule_config, key, "what it is about"),
	PROFCOL_OPTION_INT("weight", struct rule_config, weight, "1", 0, 10, "its weight"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option sender_options[] = {
	PROFCOL_OPTION_REQUIRED_STRING("endpoint", struct sender_config, endpoint, "host:port"),
	PROFCOL_OPTION_SECRET("token", struct sender_config, token, "bearer token"),
	PROFCOL_OPTION_MAP("headers", struct sender_config, headers, "sent with each request"),
	PROFCOL_OPTION_DOUBLE("ratio", struct sender_config, ratio, "1", 0, 1, "share of samples"),
	PROFCOL_OPTION_SECTION("tls", struct sender_config, tls, tls_named, tls_options,
			       "transport security"),
	PROFCOL_OPTION_OPTIONAL("ping", struct sender_config, ping, ping_named, ping_options,
				"signs of life"),
	PROFCOL_OPTION_SECTIONS("rules", struct sender_config, rules, struct rule_config,
				rule_options, "applied in order"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option filter_options[] = {
	PROFCOL_OPTION_INT("min", struct filter_config, min, "0", 0, 100, "least value"),
	PROFCOL_OPTION_INT("max", struct filter_config, max, "100", 0, 100, "greatest value"),
	PROFCOL_OPTION_END,
};

static struct profcol_error *validate_filter(const void *options)
{
	const struct filter_config *config = options;

	if (config->min <= config->max)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "min: must not be above max; swap them\nmax: must not be "
				    "below min");
}

static struct profcol_error *validate_file(const void *options)
{
	const struct file_config *config = options;

	if (!config->retention.max_age_ns || config->retention.max_age_ns >= config->interval_ns)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "retention::max_age: must not be shorter than interval");
}

static const char *const sender_aliases[] = { "otlp", NULL };

#define SAMPLE(kind_, type_, ...)                                                                  \
	{ .abi = PROFCOL_ABI,                                                                      \
	  .size = sizeof(struct profcol_component),                                                \
	  .kind = (kind_),                                                                         \
	  .type = (type_),                                                                         \
	  .summary = "for tests",                                                                  \
	  __VA_ARGS__ }

static const struct profcol_component receiver =
	SAMPLE(PROFCOL_RECEIVER, "profiling", .options = sampler_options,
	       .config_size = sizeof(struct sampler_config));
static const struct profcol_component filter =
	SAMPLE(PROFCOL_PROCESSOR, "filter", .options = filter_options, .validate = validate_filter,
	       .config_size = sizeof(struct filter_config));
static const struct profcol_component printer =
	SAMPLE(PROFCOL_EXPORTER, "debug", .options = printer_options,
	       .config_size = sizeof(struct printer_config));
static const struct profcol_component sender =
	SAMPLE(PROFCOL_EXPORTER, "otlp_grpc", .options = sender_options, .aliases = sender_aliases,
	       .config_size = sizeof(struct sender_config));
static const struct profcol_component file =
	SAMPLE(PROFCOL_EXPORTER, "pprof", .options = file_options, .validate = validate_file,
	       .config_size = sizeof(struct file_config));
static const struct profcol_component health = SAMPLE(PROFCOL_EXTENSION, "health_check");

static const struct profcol_component *const components[] = { &receiver, &filter, &printer,
							      &sender,   &file,   &health };

const struct component_registry sample_components = {
	.components = components,
	.count = sizeof(components) / sizeof(components[0]),
};
