// SPDX-License-Identifier: Apache-2.0
#include "page_cache.h"

#include "build_ids.h"
#include "cache_directory.h"
#include "cache_lookup.h"
#include "cache_store.h"
#include "cache_sweep.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LOOKUPS_MAX = 64,           /* waiting; each holds a descriptor */
	STORES_MAX_BYTES = 8 << 20, /* waiting to be written */
	PART_OF_LIMIT = 8,          /* so much is written before all is counted again */
};

static const uint64_t patience_ns = 100000000;      /* before requests go to a worker instead */
static const uint64_t write_pause_ns = 60000000000; /* after a failure */
static const uint64_t sweep_pause_ns = 60000000000; /* after one that could not make room */
static const uint64_t stop_limit_ns = 500000000;    /* to write what is left, */
static const uint64_t leave_limit_ns = 2000000000;  /* and until a thread that hangs is left */

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

static void init_lock(struct page_cache *cache)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&cache->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&cache->changed, &attributes);
	pthread_condattr_destroy(&attributes);
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
	init_lock(cache);
	register_metrics(cache);
	return cache;
}

static void release(struct page_cache *cache)
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
		release(cache);
}

/* ---- what is asked ---- */

void page_cache_identify(const struct stat *stat, const char *htlhash,
			 struct page_cache_request *request)
{
	snprintf(request->key.htlhash, sizeof(request->key.htlhash), "%s", htlhash);
	request->key.owner = stat->st_uid;
	request->key.device = stat->st_dev;
	request->identity = (struct cache_identity){
		.inode = stat->st_ino,
		.changed_ns = stat->st_ctim.tv_sec * 1000000000ll + stat->st_ctim.tv_nsec,
	};
}

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

/* ---- the thread: the host and the asker ---- */

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

static ssize_t read_head(struct page_cache *cache, uint32_t file, void *to, size_t bytes)
{
	ssize_t got;

	if (!enter(cache))
		return -ECANCELED;
	got = cache->asker.read_head(cache->asker.context, file, to, bytes);
	leave(cache);
	return got;
}

/* ---- the thread: reading ---- */

enum { FILE_HEAD_BYTES = 4096 }; /* which the htlhash is of */

/* Does @file have the build ids of @answer, where its hash vouches for them? */
static bool has_build_ids(struct page_cache *cache, uint32_t file,
			  const struct worker_answer *answer)
{
	char head[FILE_HEAD_BYTES];
	ssize_t bytes = read_head(cache, file, head, sizeof(head));

	return bytes > 0 &&
	       build_ids_are_in(head, (size_t)bytes, answer->build_id_gnu, answer->build_id_go);
}

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

static bool is_answer_to(struct page_cache *cache, const struct worker_answer *answer,
			 const struct cache_identity *identity,
			 const struct page_cache_request *request)
{
	const struct cache_identity *asked = &request->identity;
	bool same = identity->inode == asked->inode && identity->changed_ns == asked->changed_ns;

	return has_all(answer, request) && (same || has_build_ids(cache, request->file, answer));
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
	return state == CACHE_ENTRY_SOUND &&
	       is_answer_to(cache, &reply->answer, &identity, &reply->request);
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

/* ---- the thread: writing ---- */

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
	if (cache->directory.fd < 0 || !cache_sweep_begin(&cache->sweep, &cache->directory)) {
		give_up_directory(cache);
		return;
	}
	if (!cache_sweep_step(&cache->sweep, &cache->directory, cache->limit_bytes))
		return;
	count(cache, cache->evicted, cache->sweep.removed);
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

static void *page_cache_run(void *context)
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
		release(cache);
	return NULL;
}

/* ---- start and stop ---- */

struct profcol_error *page_cache_start(struct page_cache *cache)
{
	int status;

	cache->working_since_ns = clock_monotonic_ns();
	cache->lives = true;
	status = pthread_create(&cache->thread, NULL, page_cache_run, cache);
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
		status = pthread_cond_timedwait(&cache->changed, &cache->lock, &limit);
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
