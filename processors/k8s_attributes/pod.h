/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster says of its objects, as far as attributes are made of it
 * (https://kubernetes.io/docs/reference/kubernetes-api/).
 *
 * All of it is a view that is borrowed during the call that passes it. Texts are never NULL, ""
 * where the cluster says nothing, valid UTF-8 and at most K8S_TEXT_MAX bytes; what is longer is
 * left out, and so is what is more than the counts below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	K8S_TEXT_MAX = 64 << 10, /* bytes, without the NUL */
	K8S_LABELS_MAX = 512,    /* and as many annotations */
	K8S_OWNERS_MAX = 16,
	K8S_CONTAINERS_MAX = 256, /* of all roles */
};

enum k8s_kind {
	K8S_POD,
	K8S_NAMESPACE,
	K8S_NODE,
	K8S_DEPLOYMENT,
	K8S_REPLICASET,
	K8S_STATEFULSET,
	K8S_DAEMONSET,
	K8S_JOB,
	/* The namespace kube-system alone, by whose uid a cluster is known. */
	K8S_CLUSTER,
	K8S_KINDS,
};

/* A label or an annotation. */
struct k8s_pair {
	const char *key, *value;
};

struct k8s_owner {
	const char *api_version; /* "apps/v1" */
	const char *kind;        /* "ReplicaSet" */
	const char *name, *uid;
	bool controller; /* the one that manages the object */
};

struct k8s_metadata {
	const char *name;
	const char *namespace; /* "" for nodes and namespaces */
	const char *uid;
	const char *creation_time; /* RFC 3339 */
	const struct k8s_pair *labels, *annotations;
	size_t label_count, annotation_count;
	const struct k8s_owner *owners;
	size_t owner_count;
};

/* Every kind but K8S_POD. */
struct k8s_object {
	enum k8s_kind kind;
	struct k8s_metadata metadata;
};

enum k8s_container_role {
	K8S_CONTAINER_REGULAR,
	K8S_CONTAINER_INIT,
	K8S_CONTAINER_EPHEMERAL,
};

struct k8s_container {
	enum k8s_container_role role;
	const char *name;
	const char *image;    /* as the pod's author wrote it */
	const char *image_id; /* "docker.io/library/nginx@sha256:..." */

	/* Without `containerd://` or the like; "" until there is one. The one that runs, or the
	 * last one that did, and the one before that has ended. */
	const char *id, *previous_id;
	uint32_t restart_count; /* of @id; that of @previous_id is one less */
};

struct k8s_pod {
	struct k8s_metadata metadata;
	const char *node_name;  /* "" until it is scheduled */
	const char *hostname;   /* spec.hostname; "" = the pod's name */
	const char *ip;         /* status.podIP */
	const char *start_time; /* status.startTime, RFC 3339 */
	const char *phase;      /* "Pending", "Running", "Succeeded", "Failed", "Unknown" */
	bool host_network;      /* @ip is the node's, which it shares with others */
	const struct k8s_container *containers;
	size_t container_count;
};
