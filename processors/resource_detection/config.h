/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration, with the keys of the Collector. Private to the processor. */
#pragma once

#include "attributes.h"

#include <profcol/errors.h>
#include <profcol/options.h>

struct retry_config {
	bool enabled;
	uint64_t initial_interval_ns, max_interval_ns, max_elapsed_time_ns;
	double randomization_factor, multiplier;
};

struct system_config {
	struct profcol_list hostname_sources;
	struct attribute_switches resource_attributes;
};

enum kube_auth { KUBE_NONE, KUBE_SERVICE_ACCOUNT, KUBE_CONFIG, KUBE_TLS };

struct k8s_api_config {
	int auth_type; /* enum kube_auth */
	const char *context;
	double kube_api_qps;
	int64_t kube_api_burst;
	const char *node_from_env_var;
	struct attribute_switches resource_attributes;
};

struct ec2_config {
	struct profcol_list tags;
	int64_t max_attempts;
	uint64_t max_backoff_ns;
	bool fail_on_missing_metadata, tags_from_imds;
	struct attribute_switches resource_attributes;
};

struct eks_config {
	const char *node_from_env_var;
	struct attribute_switches resource_attributes;
};

struct gcp_config {
	struct profcol_list labels;
	struct attribute_switches resource_attributes;
};

struct azure_config {
	struct profcol_list tags;
	struct attribute_switches resource_attributes;
};

struct aks_config {
	struct attribute_switches resource_attributes;
};

/* The Collector's settings of an HTTP client: its detectors do not use them either. */
struct client_config {
	const char *endpoint, *proxy_url, *compression;
	int64_t read_buffer_size, write_buffer_size;
	struct profcol_map headers;
	int64_t max_idle_conns, max_idle_conns_per_host, max_conns_per_host;
	uint64_t idle_conn_timeout_ns, http2_read_idle_timeout_ns, http2_ping_timeout_ns;
	bool disable_keep_alives, force_attempt_http2;
	struct profcol_list middlewares;
	bool section; /* tls, auth, ...: not read */
};

struct resource_detection_config {
	struct profcol_list detectors;
	bool override;
	uint64_t timeout_ns, refresh_interval_ns;
	bool fail_on_missing_metadata;
	struct retry_config retry;
	struct client_config client;
	bool other; /* sections of detectors that are not here: not read */
	struct system_config system;
	struct k8s_api_config k8s_api, k8snode;
	struct ec2_config ec2;
	struct eks_config eks;
	struct gcp_config gcp;
	struct azure_config azure;
	struct aks_config aks;
};

extern const struct profcol_option resource_detection_options[];

/* What the table cannot say. */
PROFCOL_MUST_CHECK struct profcol_error *
resource_detection_config_validate(const struct resource_detection_config *config);

/* Does the Collector have a detector @name that is not here? */
bool resource_detection_is_foreign(const char *name);

/* @text without the blanks around it, as the Collector takes names of detectors; false when it does
 * not fit. */
bool resource_detection_trim(const char *text, char *to, size_t size);
