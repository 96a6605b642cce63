/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers have said of the unwind rules of files, kept on disk for the next start, by the
 * contents of the files. A thread of its own reads and writes, which may wait for a disk; nobody
 * waits for it: what it does not answer in time comes back without an answer, and is asked a
 * worker.
 *
 * Threads: create, start, stop and destroy from the host's; all others from one.
 */
#pragma once

#include "cache_entry.h"

#include <profcol/component.h>

struct page_cache;

/* Who asks. Its function is called by the thread in here, not after stop, and does not wait: stop
 * waits for it. */
struct page_cache_asker {
	void (*ready)(void *context); /* page_cache_next has something */
	void *context;
};

/* @host is borrowed until destroy, @asker copied. NULL without memory. */
struct page_cache *page_cache_create(const struct profcol_host *host, const char *directory,
				     uint64_t limit_bytes, const struct page_cache_asker *asker);
void page_cache_destroy(struct page_cache *cache); /* accepts NULL; stops first */

/* A directory that cannot be used is no error: it is told in the log, and nothing is kept. */
PROFCOL_MUST_CHECK struct profcol_error *page_cache_start(struct page_cache *cache);
/* Writes what is left, as far as that goes quickly. When a disk hangs, the thread is left to it,
 * and takes nothing of the host's or the asker's from then on. */
void page_cache_stop(struct page_cache *cache);

/* A request, as it would be made of a worker. */
struct page_cache_request {
	uint32_t file;  /* the asker's number */
	uint64_t payer; /* for closing its file: close_later.h */
	struct cache_key key;
	struct cache_identity identity;
	uint32_t numbers[WORKER_MAX_PAGES]; /* pages of the group key.part, ascending */
	size_t count;                       /* 0: CACHE_PART_FACTS */
};

bool page_cache_has_room(struct page_cache *cache); /* for one more request */

/* Look for what answers @request. Takes @fd, of its file, unless it returns false: ask a worker. */
bool page_cache_ask(struct page_cache *cache, const struct page_cache_request *request, int fd);

/* A request that has come back. */
struct page_cache_reply {
	struct page_cache_request request;
	int fd; /* owned; as it was given */
	bool found;
	struct worker_answer answer; /* if so; `file` as in the request */
};

/* The next one, to be destroyed by the caller. NULL: none yet. */
struct page_cache_reply *page_cache_next(struct page_cache *cache);
void page_cache_reply_destroy(struct page_cache_reply *reply); /* accepts NULL */

bool page_cache_is_busy(struct page_cache *cache); /* a request has not come back */

/* A worker has answered @request: keep a copy. Counted when that cannot be. */
void page_cache_keep(struct page_cache *cache, const struct page_cache_request *request,
		     const struct worker_answer *answer);
