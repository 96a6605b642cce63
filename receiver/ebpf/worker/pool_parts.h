/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pool share; nobody else includes it. */
#pragma once

#include "process.h"
#include "requests.h"
#include "stuck.h"
#include "worker.h"

#include "base/base.h"

#include <stdatomic.h>

#define MS 1000000ull

enum {
	POOL_PROCESSES = 8,
	POOL_OF_PAYER = 4, /* at most of these, of one who pays (owner_payer) */
	POOL_START_BURST = 8,
};

/* Between starts in the place of those that ended badly, sustained, after POOL_START_BURST at once;
 * four times as many are started for other owners. */
static const uint64_t POOL_START_INTERVAL_NS = 500 * MS;

struct worker_pool {
	const struct profcol_host *host; /* borrowed */
	worker_answered_function answered;
	void *context;
	uint32_t uid;
	struct worker_process processes[POOL_PROCESSES];
	_Atomic pid_t pids[POOL_PROCESSES]; /* of these, for other threads; 0: none */
	struct requests requests;           /* waiting for a process */
	struct requests refused;            /* not to be read now; to be reported as MISSING */
	size_t answers;                     /* since worker_pool_run was called */
	uint32_t last_id;
	uint64_t start_allowance_ns; /* when the starts so far would be even with the rate */
	unsigned int bad_ends;       /* of processes in whose place none has been started yet */
	unsigned int failed_starts;  /* in a row */
	uint64_t no_start_before_ns;
	char complaint[PROTOCOL_MAX_COMPLAINT + 1]; /* of the last start that failed */
	struct worker_page pages[WORKER_MAX_PAGES]; /* of the answer that is being reported */
	struct stuck_workers stuck;
	struct profcol_metric *asked, *starts, *crashes, *timeouts, *bad_answers, *put_off, *alive;
};

/* ---- pool.c ---- */

/* Start a process of @owner, or of whoever asks first (OWNER_NOBODY), in the place of @process,
 * which is NONE; it stays so when that fails. */
void pool_start_process(struct worker_pool *pool, struct worker_process *process,
			struct owner owner, uint64_t now_ns);

/* Whatever @process was about: NONE. */
void pool_kill(struct worker_pool *pool, struct worker_process *process);

size_t pool_count_alive(const struct worker_pool *pool); /* processes that are not NONE */

/* Send and receive what goes without waiting, and act on it. */
void pool_advance(struct worker_pool *pool, struct worker_process *process);

/* Tell the asker that nothing came of @request. */
void pool_report_outcome(struct worker_pool *pool, const struct worker_request *request,
			 enum worker_outcome outcome);

/* ---- pool_owners.c ---- */

/* Bring requests and processes together. */
void pool_assign(struct worker_pool *pool, uint64_t now_ns);

/* When pool_assign will start a process, by the clock alone; UINT64_MAX: never. */
uint64_t pool_next_start_ns(const struct worker_pool *pool);

/* Tell of requests that were refused when they were asked. */
void pool_report_refused(struct worker_pool *pool);
