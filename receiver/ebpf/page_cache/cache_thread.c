// SPDX-License-Identifier: Apache-2.0
#include "cache_thread.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum { PART_OF_LIMIT = 8 }; /* so much is written before all is counted again */

static const uint64_t write_pause_ns = 60000000000; /* after a failure */
static const uint64_t sweep_pause_ns = 60000000000; /* after one that could not make room */
static const uint64_t stop_limit_ns = 500000000;    /* to write what is left */

/* ---- the host and the asker ---- */

/* From here to leave() they stay. False: they have gone. */
static bool enter(struct page_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	cache->entered = !cache->left;
	pthread_mutex_unlock(&cache->lock);
	return cache->entered;
}

static void leave(struct page_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	cache->entered = false;
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
}

static void count(struct page_cache *cache, struct profcol_metric *metric, uint64_t number)
{
	if (!enter(cache))
		return;
	profcol_metric_add(metric, (int64_t)number);
	leave(cache);
}

static void show_bytes(struct page_cache *cache)
{
	if (!enter(cache))
		return;
	profcol_metric_set(cache->disk_bytes, (int64_t)cache->bytes);
	leave(cache);
}

static void tell_ready(struct page_cache *cache)
{
	if (!enter(cache))
		return;
	cache->asker.ready(cache->asker.context);
	leave(cache);
}

/* ---- reading ---- */

static bool has_all(const struct worker_answer *answer, const struct page_cache_request *request)
{
	size_t at = 0;

	if (request->key.part == CACHE_PART_FACTS)
		return !request->count ||
		       answer->page_limit - answer->page_first <= WORKER_SMALL_PAGES;
	for (size_t i = 0; i < request->count; i++) {
		while (at < answer->offset_count && answer->offsets[at] < request->numbers[i])
			at++;
		if (at == answer->offset_count || answer->offsets[at] != request->numbers[i])
			return false;
	}
	return true;
}

static bool is_same(const struct cache_identity *a, const struct cache_identity *b)
{
	return a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns &&
	       a->born_ns == b->born_ns;
}

static bool find(struct page_cache *cache, struct cache_lookup *lookup)
{
	struct page_cache_reply *reply = &lookup->reply;
	char name[CACHE_ENTRY_NAME_BYTES];
	enum cache_entry_state state = CACHE_ENTRY_DAMAGED;
	struct cache_identity identity;
	size_t bytes;
	int status;

	if (cache->directory.fd < 0)
		return false;
	cache_entry_name(&reply->request.key, name);
	status = cache_directory_read(&cache->directory, name, &lookup->entry, &bytes);
	if (status && status != -EINVAL)
		return false;
	if (!status)
		state = cache_entry_read(lookup->entry, bytes, &reply->request.key, lookup->pages,
					 &identity, &reply->answer);
	if (state == CACHE_ENTRY_DAMAGED) {
		count(cache, cache->damaged, 1);
		cache_directory_remove(&cache->directory, name);
	}
	reply->answer.file = reply->request.file;
	return state == CACHE_ENTRY_SOUND && is_same(&identity, &reply->request.identity) &&
	       has_all(&reply->answer, &reply->request);
}

static void look_up(struct page_cache *cache, struct cache_lookup *lookup)
{
	bool abandoned;

	lookup->reply.found = find(cache, lookup);
	count(cache, lookup->reply.found ? cache->hits : cache->misses, 1);
	pthread_mutex_lock(&cache->lock);
	cache->current = NULL;
	abandoned = lookup->abandoned;
	if (!abandoned)
		cache_lookup_push(&cache->done, lookup);
	pthread_mutex_unlock(&cache->lock);
	if (abandoned)
		cache_lookup_destroy(lookup);
	else
		tell_ready(cache);
}

/* ---- writing ---- */

static bool is_over(const struct page_cache *cache)
{
	return !cache->counted || cache->bytes > cache->limit_bytes ||
	       cache->written_bytes > cache->limit_bytes / PART_OF_LIMIT;
}

/* Is the directory to be gone through? */
static bool wants_sweep(const struct page_cache *cache)
{
	return is_over(cache) && clock_monotonic_ns() >= cache->no_sweep_before_ns;
}

static int write_file(struct page_cache *cache, const struct cache_store *store,
		      uint64_t *disk_bytes_ret)
{
	const void *body = cache_store_body(store);
	struct cache_entry_head head =
		cache_entry_head_make(&store->key, &store->identity, store->asked,
				      store->asked_count, body, store->body_bytes);
	char name[CACHE_ENTRY_NAME_BYTES];

	cache_entry_name(&store->key, name);
	return cache_directory_write(&cache->directory, name, &head, store->asked, body,
				     disk_bytes_ret);
}

/* A directory that was removed is made again. */
static int reopen_directory(struct page_cache *cache)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	cache_sweep_deinit(&cache->sweep);
	cache_directory_close(&cache->directory);
	cache->counted = false;
	error = cache_directory_open(&cache->directory);
	return error ? -ENOENT : 0;
}

static int write_store(struct page_cache *cache, const struct cache_store *store,
		       uint64_t *disk_bytes_ret)
{
	int status = -ENOENT;

	if (cache->directory.fd >= 0)
		status = write_file(cache, store, disk_bytes_ret);
	if (status != -ENOENT)
		return status;
	status = reopen_directory(cache);
	return status ? status : write_file(cache, store, disk_bytes_ret);
}

static void warn_of_write(struct page_cache *cache, int status)
{
	if (cache->write_fails || !enter(cache))
		return;
	profcol_log_warn(cache->host->logger,
			 "cannot write to cache_directory '%s': %s; trying again every minute",
			 cache->path, strerrordesc_np(-status));
	leave(cache);
}

static void keep(struct page_cache *cache, const struct cache_store *store)
{
	uint64_t disk_bytes = 0;
	int status = -EAGAIN;

	if (!is_over(cache) && clock_monotonic_ns() >= cache->no_write_before_ns)
		status = write_store(cache, store, &disk_bytes);
	count(cache, status ? cache->unwritten : cache->written, 1);
	if (!status) {
		cache->write_fails = false;
		cache->bytes += disk_bytes;
		cache->written_bytes += disk_bytes;
		show_bytes(cache);
	} else if (status != -EAGAIN) {
		cache->no_write_before_ns = clock_monotonic_ns() + write_pause_ns;
		warn_of_write(cache, status);
		cache->write_fails = true;
	}
}

/* One that cannot be listed is as good as none, until it is opened again to be written to. */
static void give_up_directory(struct page_cache *cache)
{
	cache_directory_close(&cache->directory);
	cache->no_write_before_ns = clock_monotonic_ns() + write_pause_ns;
	cache->bytes = cache->written_bytes = 0;
	cache->counted = true;
}

/* One step towards what the cache takes of the disk. */
static void count_some(struct page_cache *cache)
{
	bool ended;

	if (cache->directory.fd < 0 || !cache_sweep_begin(&cache->sweep, &cache->directory)) {
		give_up_directory(cache);
		return;
	}
	ended = cache_sweep_step(&cache->sweep, &cache->directory, cache->limit_bytes);
	// At once: it may be time to stop before all is done.
	count(cache, cache->evicted, cache->sweep.removed);
	cache->sweep.removed = 0;
	if (!ended)
		return;
	cache->bytes = cache->sweep.bytes;
	cache->written_bytes = 0;
	cache->counted = true;
	// There is something that cannot be removed, nor others be written beside it.
	if (cache->bytes > cache->limit_bytes)
		cache->no_sweep_before_ns = clock_monotonic_ns() + sweep_pause_ns;
	show_bytes(cache);
}

/* ---- the thread ---- */

static bool open_directory(struct page_cache *cache)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = cache_directory_open(&cache->directory);
	struct cache_lookup *lookup;

	if (!error)
		return true;
	if (enter(cache)) {
		profcol_log_warn(cache->host->logger,
				 "%s; unwind tables are not kept for the next start",
				 profcol_error_message(error));
		leave(cache);
	}
	pthread_mutex_lock(&cache->lock);
	cache->off = true;
	while ((lookup = cache_lookup_pop(&cache->waiting)))
		cache_lookup_push(&cache->done, lookup);
	pthread_mutex_unlock(&cache->lock);
	tell_ready(cache);
	return false;
}

/* What there is to do, what is waited for first. Waits when there is nothing. */
static void choose(struct page_cache *cache, struct cache_lookup **lookup_ret,
		   struct cache_store **store_ret)
{
	*lookup_ret = NULL;
	*store_ret = NULL;
	pthread_mutex_lock(&cache->lock);
	cache->working_since_ns = 0;
	while (!cache->stopping && !cache->waiting.count && !cache->stores.first &&
	       !wants_sweep(cache))
		pthread_cond_wait(&cache->changed, &cache->lock);
	*lookup_ret = cache->current = cache_lookup_pop(&cache->waiting);
	if (!*lookup_ret && !wants_sweep(cache))
		*store_ret = cache_store_pop(&cache->stores);
	cache->working_since_ns = clock_monotonic_ns();
	pthread_mutex_unlock(&cache->lock);
}

/* False: it is time to stop, and nothing is left, or too much. */
static bool goes_on(struct page_cache *cache, uint64_t *stop_ns)
{
	bool stopping, left;

	pthread_mutex_lock(&cache->lock);
	stopping = cache->stopping;
	left = cache->stores.first && !cache->left;
	pthread_mutex_unlock(&cache->lock);
	if (!stopping)
		return true;
	if (!*stop_ns)
		*stop_ns = clock_monotonic_ns() + stop_limit_ns;
	return left && clock_monotonic_ns() < *stop_ns;
}

static void work(struct page_cache *cache)
{
	uint64_t stop_ns = 0;

	while (goes_on(cache, &stop_ns)) {
		struct cache_lookup *lookup;
		struct cache_store *store;

		choose(cache, &lookup, &store);
		if (lookup)
			look_up(cache, lookup);
		else if (store)
			keep(cache, store);
		else if (wants_sweep(cache))
			count_some(cache);
		free(store);
	}
}

void *cache_thread_run(void *context)
{
	struct page_cache *cache = context;
	bool orphan;

	pthread_setname_np(pthread_self(), "page-cache");
	if (open_directory(cache))
		work(cache);
	pthread_mutex_lock(&cache->lock);
	cache->lives = false;
	orphan = cache->orphan;
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
	if (orphan)
		page_cache_release(cache);
	return NULL;
}
