/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where pods and what they belong to are learned from: the API server, by list and watch, or the
 * kubelet of this node, by polling. It has threads of its own and never gives up: what fails is
 * told, and tried again after a pause that grows.
 */
#pragma once

#include "pod.h"

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum k8s_origin {
	K8S_FROM_API_SERVER,
	K8S_FROM_KUBELET, /* pods only */
};

enum k8s_auth_type {
	K8S_AUTH_SERVICE_ACCOUNT, /* the pod's own: token and authority from files */
	K8S_AUTH_KUBE_CONFIG,
	K8S_AUTH_NONE, /* neither a token nor a check of the server's certificate */
};

enum k8s_relation {
	K8S_EQUALS,
	K8S_NOT_EQUALS,
	K8S_EXISTS, /* labels only, as the next one; no value */
	K8S_DOES_NOT_EXIST,
};

struct k8s_selector {
	const char *key, *value;
	enum k8s_relation relation;
};

/* All that is pointed to is borrowed during create. Times of 0 stand for the value named. */
struct k8s_source_settings {
	enum k8s_origin origin;
	enum k8s_auth_type auth_type;
	const char *kube_config_path; /* NULL or "": $KUBECONFIG, else ~/.kube/config */
	const char *context;          /* NULL or "": the file's current one */
	const char *account_path; /* with `token` and `ca.crt`; NULL = where Kubernetes has it */

	/* Of pods: all that are given have to fit. Pods of other nodes are not even received. */
	const char *node; /* NULL or "" = of every node */
	const char *const
		*namespaces; /* one of them; none = all. Also for kinds with a namespace */
	size_t namespace_count;
	const struct k8s_selector *fields, *labels;
	size_t field_count, label_count;

	uint32_t kinds; /* bits 1 << enum k8s_kind, beside pods; a node's is that of @node alone */

	/* Of the kubelet. */
	const char *kubelet_endpoint; /* "https://HOST[:PORT]"; NULL or "": @node, else localhost,
					 port 10250 */
	bool kubelet_insecure;        /* any certificate is good: many kubelets sign their own */
	uint64_t kubelet_interval_ns; /* 10 s */

	uint64_t pause_min_ns, pause_max_ns; /* before the next try: 1 s, doubling up to 30 s */
	uint64_t silence_ns;                 /* of a server that a watch ends after: 3 min */
	uint64_t complaint_ns;               /* the same failure is told no more often: 1 min */
};

/* A list and the watch that follows it. */
struct k8s_scope {
	enum k8s_kind kind;
	const char *namespace; /* "" = all; borrowed from the source */
};

/*
 * Called on threads of the source, one call at a time, between start and stop. None may call the
 * source but for its counts.
 *
 * After `begin` come the objects of the scope that there are, by `put_*`; with `end` they are
 * complete, and whatever of the scope has not been put since `begin` is gone. A `begin` without an
 * end may be followed by another, which starts anew; what is there stays until an `end`. After it
 * come changes, put again whole, and removals.
 */
struct k8s_source_callbacks {
	void (*begin)(void *context, const struct k8s_scope *scope);
	void (*put_pod)(void *context, const struct k8s_pod *pod);
	void (*put_object)(void *context, const struct k8s_object *object);
	/* Maybe of an object that was never put. A pod that no longer fits the filters is removed,
	 * too. */
	void (*remove)(void *context, enum k8s_kind kind, const struct k8s_metadata *metadata);
	void (*end)(void *context, const struct k8s_scope *scope);

	/*
	 * Nothing new can be learned of @scope for now: @reason as an error has it, and @remedy
	 * what somebody can do about it ("" = wait), possibly of several lines. What was put stays
	 * true as far as anybody knows. After the first `end` of a scope it takes three failures in
	 * a row, so that a server that is started again makes no noise.
	 */
	void (*failed)(void *context, const struct k8s_scope *scope, const char *reason,
		       const char *remedy);

	/* What is new of @scope is learned again after `failed`, without another list. */
	void (*works)(void *context, const struct k8s_scope *scope);
};

/* Since create. */
struct k8s_source_counts {
	uint64_t lists;      /* that came to their end, or polls */
	uint64_t watches;    /* begun */
	uint64_t events;     /* of watches, bookmarks too */
	uint64_t bytes;      /* received, without heads */
	uint64_t failures;   /* calls that failed, whether told or not */
	uint64_t oversized;  /* objects passed over: more than 1 MiB, or nested too deep */
	uint64_t incomplete; /* objects put without something, past a bound of pod.h */
};

struct k8s_source;

/*
 * CONFIG when the settings or the kubeconfig are wrong, or nothing is there to authenticate with.
 * No connection is made. @callbacks and @context are borrowed until destroy.
 */
PROFCOL_MUST_CHECK struct profcol_error *
k8s_source_create(const struct k8s_source_settings *settings,
		  const struct k8s_source_callbacks *callbacks, void *context,
		  struct k8s_source **ret);

/* Once. SYSTEM without threads; stop is then not needed. */
PROFCOL_MUST_CHECK struct profcol_error *k8s_source_start(struct k8s_source *source);

/* No callback after it. Takes less than a second, whatever the server does. Idempotent; fine
 * without start. */
void k8s_source_stop(struct k8s_source *source);

/* Stops it first. Accepts NULL. */
void k8s_source_destroy(struct k8s_source *source);

/* Any thread, also from callbacks. */
struct k8s_source_counts k8s_source_counts(const struct k8s_source *source);

/* Has every scope of @kinds (bits 1 << enum k8s_kind) that there is come to its first end? Any
 * thread, also from callbacks. */
bool k8s_source_is_synced(const struct k8s_source *source, uint32_t kinds);
