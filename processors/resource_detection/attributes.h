/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes that detectors know, and those that one has found. Private to the processor; a
 * struct found belongs to one thread at a time.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attribute {
	AZURE_RESOURCEGROUP_NAME,
	AZURE_VM_NAME,
	AZURE_VM_SCALESET_NAME,
	AZURE_VM_SIZE,
	CLOUD_ACCOUNT_ID,
	CLOUD_AVAILABILITY_ZONE,
	CLOUD_PLATFORM,
	CLOUD_PROVIDER,
	CLOUD_REGION,
	FAAS_INSTANCE,
	FAAS_NAME,
	FAAS_VERSION,
	GCP_CLOUD_RUN_JOB_EXECUTION,
	GCP_CLOUD_RUN_JOB_TASK_INDEX,
	GCP_GCE_INSTANCE_HOSTNAME,
	GCP_GCE_INSTANCE_NAME,
	GCP_GCE_INSTANCE_GROUP_MANAGER_NAME,
	GCP_GCE_INSTANCE_GROUP_MANAGER_REGION,
	GCP_GCE_INSTANCE_GROUP_MANAGER_ZONE,
	HOST_ARCH,
	HOST_CPU_CACHE_L2_SIZE,
	HOST_CPU_FAMILY,
	HOST_CPU_MODEL_ID,
	HOST_CPU_MODEL_NAME,
	HOST_CPU_STEPPING,
	HOST_CPU_VENDOR_ID,
	HOST_ID,
	HOST_IMAGE_ID,
	HOST_INTERFACE,
	HOST_IP,
	HOST_MAC,
	HOST_NAME,
	HOST_TYPE,
	K8S_CLUSTER_NAME,
	K8S_CLUSTER_UID,
	K8S_NODE_NAME,
	K8S_NODE_UID,
	OS_BUILD_ID,
	OS_DESCRIPTION,
	OS_NAME,
	OS_TYPE,
	OS_VERSION,
	ATTRIBUTES
};

/* "host.name" */
const char *attribute_key(enum attribute attribute);

/* `resource_attributes` of a detector: which of them it adds. */
struct attribute_switch {
	bool enabled;
};

struct attribute_switches {
	struct attribute_switch of[ATTRIBUTES];
};

enum found_type { FOUND_TEXT, FOUND_INTEGER, FOUND_LIST };

struct found_attribute {
	const char *key; /* in the memory of the struct found, as all that follows */
	enum found_type type;
	const char *text; /* UTF-8 */
	int64_t integer;
	const char *const *list;
	size_t count;
};

struct found {
	const struct attribute_switches *switches; /* borrowed; NULL = all are on */
	struct arena *memory;                      /* owned, as the items */
	VECTOR(struct found_attribute) attributes;
	bool no_memory; /* something is missing for want of it, or because it was too much */
};

void found_init(struct found *found, const struct attribute_switches *switches);
void found_deinit(struct found *found);

bool found_wants(const struct found *found, enum attribute attribute);

/*
 * Add an attribute, if it is switched on: the arguments are copied; bytes that are not UTF-8 become
 * '?'. The same key again replaces its value. A text that is NULL or empty is none, nor is an empty
 * list.
 */
void found_add(struct found *found, enum attribute attribute, const char *text);
void found_add_integer(struct found *found, enum attribute attribute, int64_t value);
void found_add_list(struct found *found, enum attribute attribute, const char *const *items,
		    size_t count);
/* Of any key, e.g. "ec2.tag.team"; also an empty text. */
void found_add_named(struct found *found, const char *key, const char *text);

/* Add what @found has not yet of @other. */
void found_merge(struct found *found, const struct found *other);

/* "host.name=a, os.type=linux"; free(). NULL without memory. */
char *found_print(const struct found *found);
