/* SPDX-License-Identifier: Apache-2.0 */
/* The hash tables of the store. One thread at a time, or several that only read. Private. */
#pragma once

#include "association.h"
#include "stored.h"

#include <profcol/batch.h>

/* Zeroed at the beginning. */
struct pod_index {
	struct stored_key **buckets; /* owned; the keys are the pods' */
	size_t bucket_count, count;
};

void pod_index_deinit(struct pod_index *index);

/* Make the keys of @pod for every shape that it has all parts of, and put them in. False without
 * memory: it then has no keys. */
bool pod_index_add(struct pod_index *index, const struct association *association,
		   struct stored_pod *pod);
void pod_index_remove(struct pod_index *index, struct stored_pod *pod);

const struct stored_key *pod_index_find(const struct pod_index *index,
					const struct association *association, size_t shape,
					const struct profcol_text *values);

/* Zeroed at the beginning. */
struct object_index {
	struct stored_object **buckets; /* owned; the objects are not */
	size_t bucket_count, count;
};

void object_index_deinit(struct object_index *index);
bool object_index_add(struct object_index *index, struct stored_object *object);
void object_index_remove(struct object_index *index, struct stored_object *object);
struct stored_object *object_index_find(const struct object_index *index, enum k8s_kind kind,
					const char *key);
