/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of a page_cache, and what both sides of it have: page_cache.c hands over and takes
 * back, the thread reads, writes and sweeps the directory.
 */
#pragma once

#include "cache_directory.h"
#include "cache_lookup.h"
#include "cache_store.h"
#include "cache_sweep.h"
#include "page_cache.h"

#include <pthread.h>

struct page_cache {
	const struct profcol_host *host; /* borrowed, for the thread by enter() only, */
	struct page_cache_asker asker;   /* and so is this one */
	uint64_t limit_bytes;
	char *path; /* owned */

	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	struct cache_lookup_list waiting, done;
	struct cache_lookup *current; /* the thread is at it */
	uint64_t working_since_ns;    /* 0: the thread waits */
	struct cache_store_list stores;
	bool stopping;
	bool off;     /* the directory cannot be used */
	bool lives;   /* the thread does */
	bool entered; /* it is with the host or the asker, who have to stay */
	bool left;    /* to its call that does not return: they may have gone when it does, */
	bool orphan;  /* and all that is in here is its own then */

	/* Of the thread: */
	struct cache_directory directory;
	struct cache_sweep sweep;
	uint64_t bytes;         /* on disk, as far as known */
	uint64_t written_bytes; /* since they were counted */
	bool counted;
	bool write_fails;
	uint64_t no_write_before_ns, no_sweep_before_ns;
	pthread_t thread;
	bool running;

	/* Counters, and a gauge: */
	struct profcol_metric *hits, *misses, *damaged, *written, *unwritten, *evicted;
	struct profcol_metric *disk_bytes;
};

/* The start routine; @context is the page_cache. What it finds to be its own, it releases. */
void *cache_thread_run(void *context);

/* Free all of @cache, which has no thread, or only the caller's. */
void page_cache_release(struct page_cache *cache);
