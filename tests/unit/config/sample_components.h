/* SPDX-License-Identifier: Apache-2.0 */
/* Components that only have options: one of each kind and every option type. */
#pragma once

#include "config/config.h"

struct sampler_config { /* receiver `profiling` */
	int64_t samples_per_second;
	uint64_t reporter_interval_ns;
	bool send_idle_frames;
	struct profcol_list tracers;
};

struct retention_config {
	int64_t max_files;
	uint64_t max_age_ns;
	uint64_t max_bytes;
};

struct file_config { /* exporter `pprof` */
	const char *directory;
	uint64_t interval_ns;
	struct retention_config retention;
	int64_t compression_level;
};

enum { VERBOSITY_BASIC, VERBOSITY_NORMAL, VERBOSITY_DETAILED };

struct printer_config { /* exporter `debug` */
	int verbosity;
	int64_t top;
};

struct tls_config {
	bool insecure;
	const char *ca_file;
};

struct ping_config {
	int64_t every;
};

struct rule_config {
	const char *key;
	int64_t weight;
};

struct sender_config { /* exporter `otlp_grpc`, alias `otlp` */
	const char *endpoint;
	const char *token;
	struct profcol_map headers;
	double ratio;
	bool tls_named;
	struct tls_config tls;
	bool ping_named;
	struct ping_config ping;
	struct profcol_sections rules; /* struct rule_config */
};

struct filter_config { /* processor `filter`: min must not be above max */
	int64_t min, max;
};

extern const struct component_registry sample_components;
