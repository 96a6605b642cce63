// SPDX-License-Identifier: Apache-2.0
#include "page_cache.h"

#include "cache_thread.h"

#include "base/base.h"

#include <fcntl.h>
#include <string.h>

enum {
	LOOKUPS_MAX = 64,           /* waiting; each holds a descriptor */
	STORES_MAX_BYTES = 8 << 20, /* waiting to be written */
};

static const uint64_t patience_ns = 100000000;     /* before requests go to a worker instead */
static const uint64_t leave_limit_ns = 2000000000; /* until a thread that hangs is left */

/* ---- create, destroy ---- */

static void register_metrics(struct page_cache *cache)
{
	const struct profcol_host *host = cache->host;

	cache->hits = host->metric(host, PROFCOL_COUNTER, "unwind_cache_hits", "",
				   "requests for unwind rules answered from cache_directory");
	cache->misses = host->metric(host, PROFCOL_COUNTER, "unwind_cache_misses", "",
				     "requests for unwind rules that it had no answer to");
	cache->damaged = host->metric(host, PROFCOL_COUNTER, "unwind_cache_damaged", "",
				      "files in cache_directory that were damaged, and are made "
				      "anew");
	cache->written = host->metric(host, PROFCOL_COUNTER, "unwind_cache_written", "",
				      "files written to cache_directory");
	cache->unwritten = host->metric(host, PROFCOL_COUNTER, "unwind_cache_unwritten", "",
					"answers of workers that could not be kept there");
	cache->evicted = host->metric(host, PROFCOL_COUNTER, "unwind_cache_evicted", "",
				      "files dropped to stay within cache_size");
	cache->disk_bytes = host->metric(host, PROFCOL_GAUGE, "unwind_cache_bytes", "",
					 "what cache_directory takes of the disk");
}

struct page_cache *page_cache_create(const struct profcol_host *host, const char *directory,
				     uint64_t limit_bytes, const struct page_cache_asker *asker)
{
	struct page_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->path = strdup(directory);
	if (!cache->path) {
		free(cache);
		return NULL;
	}
	cache->host = host;
	cache->asker = *asker;
	cache->limit_bytes = limit_bytes;
	cache->directory = (struct cache_directory){ .path = cache->path, .fd = -1 };
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->changed, NULL);
	register_metrics(cache);
	return cache;
}

void page_cache_release(struct page_cache *cache)
{
	struct cache_store *store;

	cache_lookup_clear(&cache->waiting);
	cache_lookup_clear(&cache->done);
	while ((store = cache_store_pop(&cache->stores)))
		free(store);
	cache_sweep_deinit(&cache->sweep);
	cache_directory_close(&cache->directory);
	pthread_cond_destroy(&cache->changed);
	pthread_mutex_destroy(&cache->lock);
	free(cache->path);
	free(cache);
}

void page_cache_destroy(struct page_cache *cache)
{
	bool lives;

	if (!cache)
		return;
	page_cache_stop(cache);
	pthread_mutex_lock(&cache->lock);
	lives = cache->lives;
	cache->orphan = true;
	pthread_mutex_unlock(&cache->lock);
	if (!lives)
		page_cache_release(cache);
}

/* ---- what is asked ---- */

/* With the lock held. */
static bool is_stuck(const struct page_cache *cache)
{
	return cache->working_since_ns &&
	       clock_monotonic_ns() > cache->working_since_ns + patience_ns;
}

bool page_cache_has_room(struct page_cache *cache)
{
	bool room;

	pthread_mutex_lock(&cache->lock);
	room = cache->waiting.count + cache->done.count < LOOKUPS_MAX;
	pthread_mutex_unlock(&cache->lock);
	return room;
}

bool page_cache_ask(struct page_cache *cache, const struct page_cache_request *request, int fd)
{
	struct cache_lookup *lookup = cache_lookup_create(request);
	bool taken;

	if (!lookup)
		return false;
	pthread_mutex_lock(&cache->lock);
	taken = cache->running && !cache->off && !is_stuck(cache);
	if (taken) {
		lookup->reply.fd = fd;
		cache_lookup_push(&cache->waiting, lookup);
		pthread_cond_signal(&cache->changed);
	}
	pthread_mutex_unlock(&cache->lock);
	if (!taken)
		cache_lookup_destroy(lookup);
	return taken;
}

/* The thread hangs: what it is at goes back as a copy, and what waits for it goes first. */
static void take_back(struct page_cache *cache)
{
	struct cache_lookup *current = cache->current, *lookup;

	if (current && !current->abandoned) {
		lookup = cache_lookup_create(&current->reply.request);
		if (!lookup)
			return;
		lookup->reply.fd = fcntl(current->reply.fd, F_DUPFD_CLOEXEC, 0);
		if (lookup->reply.fd < 0) {
			cache_lookup_destroy(lookup);
			return;
		}
		current->abandoned = true;
		cache_lookup_push(&cache->done, lookup);
	}
	while ((lookup = cache_lookup_pop(&cache->waiting)))
		cache_lookup_push(&cache->done, lookup);
}

struct page_cache_reply *page_cache_next(struct page_cache *cache)
{
	struct cache_lookup *lookup;

	pthread_mutex_lock(&cache->lock);
	if (!cache->done.count && is_stuck(cache))
		take_back(cache);
	lookup = cache_lookup_pop(&cache->done);
	pthread_mutex_unlock(&cache->lock);
	return lookup ? &lookup->reply : NULL;
}

bool page_cache_is_busy(struct page_cache *cache)
{
	bool busy;

	pthread_mutex_lock(&cache->lock);
	busy = cache->waiting.count || cache->done.count ||
	       (cache->current && !cache->current->abandoned);
	pthread_mutex_unlock(&cache->lock);
	return busy;
}

void page_cache_keep(struct page_cache *cache, const struct page_cache_request *request,
		     const struct worker_answer *answer)
{
	struct cache_store *store;
	bool taken;

	// The file may have changed since its hash was taken; or parts of a small one were asked
	// for.
	if (strcmp(answer->htlhash, request->key.htlhash) ||
	    (request->key.part == CACHE_PART_FACTS) != !answer->offset_count)
		return;
	store = cache_store_create(&request->key, &request->identity, answer);
	pthread_mutex_lock(&cache->lock);
	taken = store && cache->running && !cache->off &&
		cache->stores.bytes + store->bytes <= STORES_MAX_BYTES;
	if (taken) {
		cache_store_push(&cache->stores, store);
		pthread_cond_signal(&cache->changed);
	}
	pthread_mutex_unlock(&cache->lock);
	if (taken)
		return;
	free(store);
	profcol_metric_add(cache->unwritten, 1);
}

/* ---- start and stop ---- */

struct profcol_error *page_cache_start(struct page_cache *cache)
{
	int status;

	cache->working_since_ns = clock_monotonic_ns();
	cache->lives = true;
	status = pthread_create(&cache->thread, NULL, cache_thread_run, cache);
	if (status) {
		cache->lives = false;
		return profcol_error_errno(status, "start the thread of cache_directory");
	}
	pthread_mutex_lock(&cache->lock);
	cache->running = true;
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

/* Until the thread has ended, or has been at one thing for too long. With the lock held. */
static void wait_for_end(struct page_cache *cache)
{
	struct timespec limit = clock_timespec(clock_monotonic_ns() + leave_limit_ns);
	int status = 0;

	while (cache->lives && !status)
		status = pthread_cond_clockwait(&cache->changed, &cache->lock, CLOCK_MONOTONIC,
						&limit);
	while (cache->lives && cache->entered)
		pthread_cond_wait(&cache->changed, &cache->lock);
	cache->left = cache->lives;
	if (cache->left && cache->current)
		cache->current->abandoned = true;
}

/* What nobody will write any more. With the lock held. */
static void drop_stores(struct page_cache *cache)
{
	struct cache_store *store;

	while ((store = cache_store_pop(&cache->stores))) {
		profcol_metric_add(cache->unwritten, 1);
		free(store);
	}
}

void page_cache_stop(struct page_cache *cache)
{
	bool left;

	if (!cache->running)
		return;
	pthread_mutex_lock(&cache->lock);
	cache->stopping = true;
	cache->running = false; // takes nothing any more
	pthread_cond_broadcast(&cache->changed);
	wait_for_end(cache);
	drop_stores(cache);
	left = cache->left;
	pthread_mutex_unlock(&cache->lock);
	if (!left) {
		pthread_join(cache->thread, NULL);
		return;
	}
	pthread_detach(cache->thread);
	profcol_log_warn(cache->host->logger,
			 "cache_directory '%s' does not answer, ending without it; keep it on a "
			 "disk of this machine",
			 cache->path);
}
