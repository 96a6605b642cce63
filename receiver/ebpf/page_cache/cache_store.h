/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of workers on their way to the disk. Any thread, one at a time for a list. */
#pragma once

#include "cache_entry.h"

/* A copy; freed by free(). */
struct cache_store {
	struct cache_store *next;
	size_t bytes; /* of memory */
	struct cache_key key;
	struct cache_identity identity;
	size_t asked_count, body_bytes;
	uint64_t asked[]; /* then the body */
};

/* NULL without memory. */
struct cache_store *cache_store_create(const struct cache_key *key,
				       const struct cache_identity *identity,
				       const struct worker_answer *answer);

static inline const void *cache_store_body(const struct cache_store *store)
{
	return store->asked + store->asked_count;
}

/* First in, first out. All zero is an empty one. */
struct cache_store_list {
	struct cache_store *first, *last;
	size_t bytes;
};

void cache_store_push(struct cache_store_list *list, struct cache_store *store); /* takes @store */
struct cache_store *cache_store_pop(struct cache_store_list *list); /* NULL when it is empty */
