/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, and what they belong to, as the source tells of them; found by what a resource says. What
 * is gone stays for a while: its last profiles come later.
 *
 * Threads: any; what is found is borrowed until store_unlock(). Private.
 */
#pragma once

#include "association.h"
#include "rules.h"
#include "source.h"
#include "stored.h"

struct store;

struct store_settings {
	uint64_t grace_ns;  /* what is gone is remembered for so long, while there is room */
	uint64_t pods_max;  /* 0 = 200,000, more than the largest clusters have */
	uint64_t bytes_max; /* of all of it but tables; 0 = 512 MiB */
};

/* @rules and @association are borrowed until destroy. NULL without memory. */
struct store *store_create(const struct rules *rules, const struct association *association,
			   const struct store_settings *settings);
void store_destroy(struct store *store); /* accepts NULL */

/* ---- what the source calls, under the names of source.h ---- */

void store_begin(struct store *store, const struct k8s_scope *scope);
void store_put_pod(struct store *store, const struct k8s_pod *pod);
void store_put_object(struct store *store, const struct k8s_object *object);
void store_remove(struct store *store, enum k8s_kind kind, const struct k8s_metadata *metadata);
void store_end(struct store *store, const struct k8s_scope *scope);

/* ---- reading ---- */

/* Several may hold it at once; what the source has to say waits meanwhile. */
void store_lock(struct store *store);
bool store_try_lock(struct store *store); /* false when it would wait */
void store_unlock(struct store *store);

/* The pod that has @values, as many as the shape has parts; of several the one that runs, or the
 * one that began last. Between lock and unlock; NULL when there is none. */
const struct stored_key *store_find(const struct store *store, size_t shape,
				    const struct profcol_text *values);

/* By uid; namespaces and nodes by name; of K8S_CLUSTER there is one, by "". */
const struct stored_object *store_find_object(const struct store *store, enum k8s_kind kind,
					      const char *key);

struct store_figures {
	uint64_t pods, objects; /* there are, those included that are gone but remembered */
	uint64_t bytes;         /* of all of it */
	uint64_t added, updated, removed; /* pods, since create */
	uint64_t refused; /* pods and objects that there was no room or memory for */
};

struct store_figures store_figures(struct store *store);
