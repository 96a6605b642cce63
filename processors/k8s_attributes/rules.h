/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration asks to be known of pods, compiled. Immutable once made: any thread.
 * Private.
 */
#pragma once

#include "config.h"
#include "pod.h"

#include "ottl/ottl.h"

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields of `extract.metadata`, by name. */
enum metadata_field {
	CONTAINER_ID,
	CONTAINER_IMAGE_NAME,
	CONTAINER_IMAGE_REPO_DIGESTS,
	CONTAINER_IMAGE_TAG,
	CONTAINER_IMAGE_TAGS,
	K8S_CLUSTER_UID,
	K8S_CONTAINER_NAME,
	K8S_CRONJOB_NAME,
	K8S_CRONJOB_UID,
	K8S_DAEMONSET_NAME,
	K8S_DAEMONSET_UID,
	K8S_DEPLOYMENT_NAME,
	K8S_DEPLOYMENT_UID,
	K8S_JOB_NAME,
	K8S_JOB_UID,
	K8S_NAMESPACE_NAME,
	K8S_NODE_NAME,
	K8S_NODE_UID,
	K8S_POD_HOSTNAME,
	K8S_POD_IP,
	K8S_POD_NAME,
	K8S_POD_START_TIME,
	K8S_POD_UID,
	K8S_REPLICASET_NAME,
	K8S_REPLICASET_UID,
	K8S_STATEFULSET_NAME,
	K8S_STATEFULSET_UID,
	SERVICE_INSTANCE_ID,
	SERVICE_NAME,
	SERVICE_NAMESPACE,
	SERVICE_VERSION,
	METADATA_FIELDS,
};

const char *metadata_field_key(enum metadata_field field);

/* METADATA_FIELDS when it is none. */
enum metadata_field metadata_field_find(const char *key);

/* One of `extract.labels` or `extract.annotations`. */
struct field_rule {
	enum k8s_kind from;
	const char *key;              /* borrowed from the configuration, as the next */
	const char *tag_name;         /* "" = made from the key */
	struct ottl_pattern *pattern; /* owned; of the whole key; NULL = @key */
	size_t captures;              /* groups of the pattern */
};

struct field_rules {
	struct field_rule *items; /* owned */
	size_t count;
};

struct rules {
	bool wants[METADATA_FIELDS];
	struct field_rules labels, annotations;
	struct ottl_pattern **excludes; /* owned, as the patterns */
	size_t exclude_count;
	uint32_t kinds; /* bits 1 << enum k8s_kind: what has to be known beside pods */
};

/* CONFIG errors, one a line, begin with the key. @config lives on. *@ret is the caller's to
 * destroy. */
PROFCOL_MUST_CHECK struct profcol_error *rules_create(const struct k8s_attributes_config *config,
						      struct rules **ret);
void rules_destroy(struct rules *rules); /* accepts NULL */
