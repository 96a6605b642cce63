/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of pods and of what they belong to: no more than the configuration asks for, each
 * text once. Private.
 */
#pragma once

#include "pod.h"
#include "text_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stored_attribute {
	struct text *key, *value; /* references */
};

struct stored_attributes {
	struct stored_attribute *items; /* owned */
	uint32_t count;
};

/* One life of a container. */
struct stored_run {
	struct text *id;     /* reference, as the next; NULL = there is none */
	struct text *digest; /* of container.image.repo_digests; NULL = not wanted, or unknown */
	uint32_t restart_count;
};

enum { RUN_CURRENT, RUN_PREVIOUS, RUNS };

struct stored_container {
	struct text *name;      /* reference, as the next */
	struct text *image_tag; /* of container.image.tags, a list; NULL = not wanted */
	struct stored_attributes attributes;
	struct stored_run runs[RUNS];
};

/* What pods and others have in common. */
struct stored {
	struct stored *previous, *next; /* of the list that it is in */
	enum k8s_kind kind;
	uint32_t seen;          /* the listing during which it was put last */
	uint64_t gone_ns;       /* CLOCK_MONOTONIC: when it is to be forgotten; 0 = it is there */
	struct text *namespace; /* reference, as those below; NULL = "" */
	struct text *uid;
};

/* Where the pod stands in an index. */
struct stored_key {
	struct stored_key *next; /* of its bucket */
	struct stored_pod *pod;
	uint32_t hash;
	uint16_t shape; /* of the association */
	uint8_t run;    /* of the container, where the shape has its id */
	uint8_t container;
};

struct stored_pod {
	struct stored stored; /* first */
	struct text *name, *node, *ip;
	struct text *replicaset_uid, *statefulset_uid, *daemonset_uid, *job_uid;
	int64_t started; /* Unix seconds; 0 = unknown */
	bool ignored;    /* excluded: it is known, but nothing is said of it */
	bool host_network;
	bool service_of_owner; /* service.name is that of an owner, if one is known */
	struct stored_attributes attributes;
	struct stored_container *containers; /* owned, as the keys */
	struct stored_key *keys;
	uint32_t container_count, key_count;
};

struct stored_object {
	struct stored stored;    /* first */
	struct text *name;       /* of nodes and namespaces: what they are found by */
	struct text *owner_name; /* of a replica set: its deployment; of a job: its cron job */
	struct text *owner_uid;
	struct stored_object *chain; /* of its bucket */
	uint32_t hash;
	struct stored_attributes attributes;
};
