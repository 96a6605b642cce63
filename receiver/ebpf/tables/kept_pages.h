/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between requests for pages and the cache on disk (page_cache/), which is asked before a worker
 * is. All zero is without one: nothing is asked of it then. One thread at a time.
 */
#pragma once

#include "pages.h"

#include "page_cache/page_cache.h"
#include "processes/processes.h"

#include "base/base.h"

struct kept_pages {
	struct page_cache *cache;                 /* owned; NULL: there is none */
	VECTOR(struct page_cache_request) missed; /* a worker is asked for these instead */
};

void kept_pages_deinit(struct kept_pages *kept);

bool kept_pages_has_room(const struct kept_pages *kept); /* for one more request */

/* Ask the cache for what @request is about; takes @fd, unless it returns false: ask a worker. */
bool kept_pages_ask(struct kept_pages *kept, struct processes *processes,
		    const struct pages_request *request, int fd);

/*
 * What the cache has found, or not: then a worker is to be asked, and its answer to be given to
 * kept_pages_keep. NULL: nothing yet. To be destroyed by page_cache_reply_destroy.
 */
struct page_cache_reply *kept_pages_next(struct kept_pages *kept);

/* A worker has answered, or nobody can. What is not certain to be of the file that was asked for is
 * not kept. */
void kept_pages_keep(struct kept_pages *kept, struct processes *processes,
		     const struct worker_answer *answer);

/* When to look for what does not come back by itself: @deadline_ns, or before. */
uint64_t kept_pages_deadline(const struct kept_pages *kept, uint64_t deadline_ns);
