/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on their way through the cache. Any thread, one at a time for a list. */
#pragma once

#include "page_cache.h"

/* `reply` is first, so that one leads to the other. */
struct cache_lookup {
	struct page_cache_reply reply;
	struct cache_lookup *next;
	bool abandoned; /* nobody waits for this one any more */
	void *entry;    /* owned */
	struct worker_page pages[WORKER_MAX_PAGES];
};

struct cache_lookup *cache_lookup_create(const struct page_cache_request *request); /* or NULL */
void cache_lookup_destroy(struct cache_lookup *lookup); /* accepts NULL */

/* First in, first out. All zero is an empty one. */
struct cache_lookup_list {
	struct cache_lookup *first, *last;
	size_t count;
};

void cache_lookup_push(struct cache_lookup_list *list, struct cache_lookup *lookup); /* takes it */
struct cache_lookup *cache_lookup_pop(struct cache_lookup_list *list); /* NULL: it is empty */
void cache_lookup_clear(struct cache_lookup_list *list);
