/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the `k8s_attributes` processor, as the host decodes them. Private. */
#pragma once

#include <profcol/errors.h>
#include <profcol/options.h>

#include <stdbool.h>
#include <stdint.h>

enum k8s_source_name { SOURCE_API_SERVER, SOURCE_KUBELET };

enum { ASSOCIATION_SOURCES_MAX = 4 };

/* One of `extract.labels` or `extract.annotations`. */
struct field_config {
	const char *tag_name, *key, *key_regex, *from;
};

struct extract_config {
	struct profcol_list metadata;
	struct profcol_sections labels, annotations; /* struct field_config */
	bool otel_annotations, deployment_name_from_replicaset;
};

/* One of `filter.labels` or `filter.fields`. */
struct selector_config {
	const char *key, *value, *op;
};

struct filter_config {
	const char *node, *node_from_env_var;
	struct profcol_any namespace;           /* a text, or a list of texts */
	struct profcol_sections fields, labels; /* struct selector_config */
};

struct association_source_config {
	const char *from, *name;
};

struct association_config {
	struct profcol_sections sources; /* struct association_source_config */
};

struct exclude_pod_config {
	const char *name;
};

struct exclude_config {
	struct profcol_sections pods; /* struct exclude_pod_config */
};

struct kubelet_config {
	const char *endpoint;
	uint64_t poll_interval_ns;
	bool insecure_skip_verify;
};

struct k8s_attributes_config {
	const char *auth_type, *kube_config_path, *context;
	double kube_api_qps;
	int64_t kube_api_burst;
	bool passthrough;
	struct extract_config extract;
	struct filter_config filter;
	struct profcol_sections pod_association; /* struct association_config */
	struct exclude_config exclude;
	bool wait_for_metadata;
	uint64_t wait_for_metadata_timeout_ns;
	uint64_t watch_sync_period_ns;
	uint64_t pod_delete_grace_period_ns;
	int source; /* enum k8s_source_name */
	struct kubelet_config kubelet;
};

extern const struct profcol_option k8s_attributes_options[];

/* What the table cannot say; CONFIG errors, one a line. */
PROFCOL_MUST_CHECK struct profcol_error *
k8s_attributes_config_validate(const struct k8s_attributes_config *config);
