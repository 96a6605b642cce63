/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object of a cluster while it is being read: what is kept of it, under the bounds of pod.h.
 * Private to the parser.
 */
#pragma once

#include "pod.h"

struct arena;

enum { POD_DRAFT_TEXT_BYTES = 2 << 20 }; /* of memory for texts */

/* Of the description and the status of a pod, which come apart. */
struct pod_draft_container {
	enum k8s_container_role role;
	const char *name, *image, *image_id;
	const char *id, *ended_id; /* with `runtime://`; the one there is, by two names */
	const char *previous_id;
	uint32_t restart_count;
};

/* `Status`: an object that says why there is no other. */
struct pod_draft_refusal {
	const char *message;
	uint32_t code;
};

struct pod_draft {
	struct k8s_pod pod; /* its arrays: only once finished */
	const char *resource_version;
	struct pod_draft_refusal refusal;
	bool incomplete; /* something went past a bound, and is left out */

	/* What the view's arrays are made of; private. */
	struct k8s_pair labels[K8S_LABELS_MAX], annotations[K8S_LABELS_MAX];
	struct k8s_owner owners[K8S_OWNERS_MAX];
	struct pod_draft_container described[K8S_CONTAINERS_MAX], observed[K8S_CONTAINERS_MAX];
	size_t described_count, observed_count;
	struct k8s_container containers[K8S_CONTAINERS_MAX];
	struct arena *texts; /* owned; NULL = none yet */
};

/* NULL without memory. */
struct pod_draft *pod_draft_create(void);
void pod_draft_destroy(struct pod_draft *draft); /* accepts NULL */

/* Forget all of the object before, and free its texts. */
void pod_draft_reset(struct pod_draft *draft);

/* A copy with invalid UTF-8 replaced, or NULL and `incomplete` when it is too long, or there is no
 * memory. */
const char *pod_draft_keep(struct pod_draft *draft, const char *bytes, size_t length);

/* The next of each sort, whose texts are ""; NULL and `incomplete` when there are too many. */
struct k8s_owner *pod_draft_add_owner(struct pod_draft *draft);
struct pod_draft_container *pod_draft_add_described(struct pod_draft *draft,
						    enum k8s_container_role role);
struct pod_draft_container *pod_draft_add_observed(struct pod_draft *draft,
						   enum k8s_container_role role);
/* @key as pod_draft_keep gave it. */
void pod_draft_add_label(struct pod_draft *draft, const char *key, const char *value);
void pod_draft_add_annotation(struct pod_draft *draft, const char *key, const char *value);

/* Complete: draft->pod is a view until the next reset. */
void pod_draft_finish(struct pod_draft *draft);
