/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait to be sent, in memory or in an extension's storage, bounded in
 * requests, samples and bytes; and how far the shutdown has come, which is what
 * all who wait here wait for as well. Private to the folder.
 *
 * What was taken still counts until it is finished: the bound is on all that is held.
 * Threads: any, but for init, open, close and deinit.
 */
#pragma once

#include "parcel.h"
#include "sending.h"

#include <pthread.h>
#include <stdatomic.h>

/* Only ever goes up. */
enum queue_phase {
	QUEUE_OPEN,
	QUEUE_HURRIED,  /* callers no longer wait */
	QUEUE_DRAINING, /* nothing comes in; one more attempt for what is there */
	QUEUE_SEALED,   /* nothing is taken any more: it stays in the storage */
	QUEUE_CUT,      /* nothing is sent any more */
};

struct queue_load {
	uint64_t requests, samples, bytes;
};

/* What became of a batch whose caller waits. Guarded by the queue's lock. */
struct queue_result {
	size_t pending;              /* requests of the batch that are not settled */
	struct profcol_error *error; /* owned: the first one */
	bool abandoned;              /* nobody waits: the last settlement frees it */
};

struct queue_item {
	struct queue_item *next;
	struct parcel parcel;        /* owned; bytes NULL once it is unpacked */
	uint64_t record;             /* in the storage */
	struct queue_result *result; /* NULL: nobody waits */
};

/* When requests are to be joined: how long to collect them. */
struct queue_gathering {
	bool enabled;
	int sizer; /* enum sending_sizer */
	uint64_t enough;
	uint64_t max_bytes; /* no more than that, whatever the sizer */
	uint64_t timeout_ns;
};

struct queue {
	const struct profcol_storage_operations *storage; /* borrowed; NULL = in memory */
	struct profcol_storage_queue *stored;             /* owned; NULL unless open */
	struct queue_load capacity;                       /* UINT64_MAX = no bound of ours */
	size_t max_request_bytes; /* a longer one is never let in; fixed once open */
	bool blocks;              /* when full, put waits */
	struct queue_gathering gathering;
	atomic_bool is_cut; /* the phase is CUT: for who works for long without the lock */

	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t work;   /* something to take: one consumer */
	pthread_cond_t more;   /* something to take: the one that gathers */
	pthread_cond_t space;  /* something was finished */
	pthread_cond_t phased; /* the phase has changed, or a result has come */
	enum queue_phase phase;
	struct queue_load held;
	struct queue_item *first, **last; /* in memory, not taken */
	uint64_t ready;                   /* not taken; of the storage an upper bound */
	unsigned int idle;                /* consumers that wait for work */
	bool is_gathering;                /* one consumer collects: the others leave it to him */
	uint64_t damaged_records, damaged_samples;
};

/* @config and @storage are borrowed until deinit. */
void queue_init(struct queue *queue, const struct sending_config *config,
		const struct profcol_storage_operations *storage);
void queue_deinit(struct queue *queue);

/* Open the storage, if there is one: @self is the extension's instance. */
PROFCOL_MUST_CHECK struct profcol_error *queue_open(struct queue *queue, void *self,
						    const char *name);
/* What stays is in the storage. Nobody else may be inside. */
void queue_close(struct queue *queue);

struct queue_load queue_load(struct queue *queue);

/* The most that is held, by our bounds and the storage's. After open. */
struct queue_load queue_capacity(struct queue *queue);

/* Requests that nobody has taken and nobody waits for: one more consumer has work. */
bool queue_wants_consumer(struct queue *queue);

/*
 * Take over the bytes of @parcels: all or none, but one after the other with
 * block_on_overflow, on disk, and when not even an empty queue could hold them all. What is taken
 * over is left empty in @parcels. @result may be NULL. UNAVAILABLE when full, REJECTED when there
 * can never be room for a single one.
 */
PROFCOL_MUST_CHECK struct profcol_error *queue_put(struct queue *queue, struct parcels *parcels,
						   struct queue_result *result);

/*
 * Wait for something to send: one request, or when gathering a list of them. NULL when there
 * will be nothing more.
 */
struct queue_item *queue_take(struct queue *queue);

/* Take the contents out; the item still counts with what it was. */
struct parcel queue_item_unpack(struct queue_item *item);

/* @items are settled: delivered, or given up. @error is why not, or NULL; borrowed. */
void queue_finish(struct queue *queue, struct queue_item *items, const struct profcol_error *error);

/* Undo the take of @items in the storage. */
void queue_put_back(struct queue *queue, struct queue_item *items);

/*
 * Put @rest in the place of @items in the storage. False when it did not go: @items are
 * still taken, and the first *@added_ret samples of @rest are there as well.
 */
bool queue_replace(struct queue *queue, struct queue_item *items, const struct parcels *rest,
		   uint64_t *added_ret);

/* Take all that nobody has taken, without waiting. In memory only. */
struct queue_item *queue_take_rest(struct queue *queue);

enum queue_phase queue_phase(struct queue *queue);
void queue_advance(struct queue *queue, enum queue_phase phase);

/* Sleep until @until_ns (CLOCK_MONOTONIC) or until @phase has come. */
void queue_sleep(struct queue *queue, uint64_t until_ns, enum queue_phase phase);

/* How long to sleep until somebody may have given back what there was not enough of. */
#define QUEUE_SHORTAGE_NS (100 * PROFCOL_MILLISECOND)

/*
 * Wait until all of @result is settled, or the phase is HURRIED. Frees it, or leaves that
 * to the last settlement. *@settled_ret says which; the error is the caller's.
 */
PROFCOL_MUST_CHECK struct profcol_error *
queue_await(struct queue *queue, struct queue_result *result, bool *settled_ret);

/* Records of the storage that turned out damaged since the last call. */
struct queue_load queue_take_damage(struct queue *queue);

/* ---- between queue.c and queue_take.c: under the lock ---- */

/* What the storage holds is what it says. */
void queue_refresh(struct queue *queue);

/* False when the time is over. */
bool queue_wait_until(struct queue *queue, pthread_cond_t *condition, uint64_t until_ns);
