/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which attributes of a resource its pod is found. Immutable once made: any thread. Private.
 *
 * A shape is a list of parts of a pod, by which it stands in an index of its own; a lookup says
 * which attributes of a resource are to be these parts.
 */
#pragma once

#include "config.h"

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>

enum pod_part {
	PART_CONTAINER_ID, /* one of them */
	PART_UID,
	PART_IP, /* of its own, so of no pod that has its node's */
	PART_NAMESPACE,
	PART_NAME,
	PART_ATTRIBUTE, /* one that was extracted, by its key */
};

struct association_shape {
	enum pod_part parts[ASSOCIATION_SOURCES_MAX];
	const char *keys[ASSOCIATION_SOURCES_MAX]; /* of PART_ATTRIBUTE; borrowed */
	size_t count;
};

/* Shapes that are always there. */
enum { SHAPE_CONTAINER_ID, SHAPE_UID, SHAPE_IP, SHAPES_AT_LEAST };

struct association_lookup {
	const char *attributes[ASSOCIATION_SOURCES_MAX]; /* of the resource; borrowed */
	size_t count;
	size_t shape;
};

struct association {
	struct association_shape *shapes; /* owned, as the next */
	struct association_lookup *lookups;
	size_t shape_count, lookup_count;
	bool is_configured; /* the first lookup whose attributes are there is the last one */
	bool by_connection; /* a rule goes by it, and is left out: profiles have none */
};

/* @config lives on. *@ret is the caller's to destroy. */
PROFCOL_MUST_CHECK struct profcol_error *
association_create(const struct k8s_attributes_config *config, struct association **ret);
void association_destroy(struct association *association); /* accepts NULL */
