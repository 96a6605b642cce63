/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of tables.h have of each other: tables.c is the thread, and what wakes it;
 * tables_walks.c answers walks that are finished in user space, from any thread.
 */
#pragma once

#include "kept_pages.h"
#include "memory.h"
#include "met.h"
#include "missed.h"
#include "notes.h"
#include "pages.h"
#include "process_index.h"
#include "rule_table.h"
#include "slabs.h"
#include "spaces.h"
#include "tables.h"
#include "tables_metrics.h"

#include "worker/worker.h"

#include <pthread.h>

struct tables {
	const struct profcol_host *host;
	struct processes *processes;
	struct process_memory *process_memory;
	uint64_t limit_bytes; /* now; `lock` is held once the thread runs */
	size_t found_bytes;
	uint64_t most_bytes;
	uint32_t disabled_runtimes;   /* 1 << enum runtime_number each */
	uint32_t unlabelled_runtimes; /* the same */
	struct tables_metrics metrics;
	struct notes notes; /* of the thread that takes samples */
	struct missed missed;

	pthread_mutex_t lock; /* over what follows but the pool; not held over I/O */
	struct slabs *slabs;
	struct memory *memory;
	struct process_index index;
	struct rule_table rules;
	struct pages *pages;
	struct met *met;
	struct spaces *spaces;           /* NULL before the start */
	struct processes_files known;    /* as they were when pages were last looked at for that */
	uint64_t accounted_bytes;        /* of user space */
	size_t index_bytes, rules_bytes; /* of the mappings */

	/* Of the thread: */
	struct profcol_error *(*load_walk)(void *context, uint32_t runtimes, uint32_t number);
	void *load_context;
	struct worker_pool *pool;
	struct kept_pages kept;
	pthread_t thread;
	bool running;
};
