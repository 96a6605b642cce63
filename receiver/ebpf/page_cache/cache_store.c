// SPDX-License-Identifier: Apache-2.0
#include "cache_store.h"

#include <stdlib.h>
#include <string.h>

struct cache_store *cache_store_create(const struct cache_key *key,
				       const struct cache_identity *identity,
				       const struct worker_answer *answer)
{
	size_t asked_bytes = answer->offset_count * sizeof(*answer->offsets);
	size_t bytes = sizeof(struct cache_store) + asked_bytes + answer->body_bytes;
	struct cache_store *store = malloc(bytes);

	if (!store)
		return NULL;
	*store = (struct cache_store){
		.bytes = bytes,
		.key = *key,
		.identity = *identity,
		.asked_count = answer->offset_count,
		.body_bytes = answer->body_bytes,
	};
	if (asked_bytes)
		memcpy(store->asked, answer->offsets, asked_bytes);
	memcpy(store->asked + answer->offset_count, answer->body, answer->body_bytes);
	return store;
}

void cache_store_push(struct cache_store_list *list, struct cache_store *store)
{
	if (list->last)
		list->last->next = store;
	else
		list->first = store;
	list->last = store;
	list->bytes += store->bytes;
}

struct cache_store *cache_store_pop(struct cache_store_list *list)
{
	struct cache_store *store = list->first;

	if (!store)
		return NULL;
	list->first = store->next;
	if (!list->first)
		list->last = NULL;
	list->bytes -= store->bytes;
	return store;
}
