// SPDX-License-Identifier: Apache-2.0
#include "cache_lookup.h"

#include "base/base.h"

#include <stddef.h>
#include <stdlib.h>

struct cache_lookup *cache_lookup_create(const struct page_cache_request *request)
{
	struct cache_lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup)
		return NULL;
	lookup->reply.request = *request;
	lookup->reply.fd = -1;
	return lookup;
}

void cache_lookup_destroy(struct cache_lookup *lookup)
{
	if (!lookup)
		return;
	if (lookup->reply.fd >= 0)
		close_later(lookup->reply.fd, lookup->reply.request.payer);
	free(lookup->entry);
	free(lookup);
}

void page_cache_reply_destroy(struct page_cache_reply *reply)
{
	_Static_assert(!offsetof(struct cache_lookup, reply), "the reply is first");

	cache_lookup_destroy((struct cache_lookup *)reply);
}

void cache_lookup_push(struct cache_lookup_list *list, struct cache_lookup *lookup)
{
	lookup->next = NULL;
	if (list->last)
		list->last->next = lookup;
	else
		list->first = lookup;
	list->last = lookup;
	list->count++;
}

struct cache_lookup *cache_lookup_pop(struct cache_lookup_list *list)
{
	struct cache_lookup *lookup = list->first;

	if (!lookup)
		return NULL;
	list->first = lookup->next;
	if (!list->first)
		list->last = NULL;
	list->count--;
	return lookup;
}

void cache_lookup_clear(struct cache_lookup_list *list)
{
	struct cache_lookup *lookup;

	while ((lookup = cache_lookup_pop(list)))
		cache_lookup_destroy(lookup);
}
