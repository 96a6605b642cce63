/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of tables.h have of each other: tables.c is the thread, and what wakes it;
 * tables_walks.c answers walks that are finished in user space, from any thread; tables_loader.c
 * loads the programs that walk stacks of processes with runtimes.
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
#include <stdatomic.h>

/* Of the thread of the tables, but for what that of the loader is given. */
struct walk_loader {
	struct profcol_error *(*load_walk)(void *context, uint32_t runtimes, uint32_t number);
	void *context;             /* load_walk's */
	uint32_t number, runtimes; /* what is loaded */
	pthread_t thread;
	bool running;      /* to be joined */
	atomic_bool ended; /* that will not take long */
};

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
	struct walk_loader loader;
	struct worker_pool *pool;
	struct kept_pages kept;
	pthread_t thread;
	bool running;
};

/* ---- tables_loader.c; the thread of the tables ---- */

/* Load a program that walks stacks of processes with runtimes, if one is wanted and none is being
 * loaded. */
void tables_load_next_walk(struct tables *tables);

/* Waits until nothing is being loaded any more. */
void tables_end_loading(struct tables *tables);
