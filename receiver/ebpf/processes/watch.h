/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the table of processes true: takes in records, reads /proc for what they do
 * not say, and opens files. One thread at a time (the one of processes.c), which
 * shares the table with others under its lock. No lock is held over I/O.
 */
#pragma once

#include "code_ends.h"
#include "execs.h"
#include "files.h"
#include "kernel_code.h"
#include "read_time.h"
#include "side_band.h"
#include "table.h"
#include "watch_hangs.h"

#include <profcol/component.h>

#include <pthread.h>
#include <stdatomic.h>

/* A sample that has been taken. */
struct note {
	struct process_key key;
	uint64_t time_ns;
};

struct watch_metrics {
	struct profcol_metric *processes, *memory, *files, *files_open;          /* gauges */
	struct profcol_metric *records_lost, *evicted, *refused, *files_refused; /* counters */
	struct profcol_metric *malformed_environments, *claims_refused;          /* counters */
	struct profcol_metric *paths_refused, *files_evicted, *put_off;          /* counters */
	struct profcol_metric *roots_refused;                                    /* counter */
};

struct watch {
	const struct profcol_host *host;
	const struct profcol_list *variables;  /* borrowed: as for environment_parse */
	struct side_band *side_band;           /* owned */
	_Atomic(struct execs *) execs;         /* owned; NULL = not listened to */
	_Atomic(struct code_ends *) code_ends; /* owned; NULL = not loaded */
	struct files *files;                   /* owned */
	struct kernel_code *kernel_code;       /* owned */
	struct table table;
	pthread_mutex_t table_lock;
	/* Who is told of changes, as processes_on_change says; NULL = nobody. */
	void (*changed)(void *context, const struct process_key *key, bool alive);
	void *changed_context;        /* borrowed */
	_Atomic int64_t other_memory; /* processes_account */
	struct watch_metrics metrics;
	/* Of the one thread: */
	VECTOR(struct exec_record) told;      /* execs that are about to be taken in */
	VECTOR(struct code_end_record) ended; /* the same of code that ended */
	size_t ended_taken;                   /* of these */
	bool code_ends_tried;                 /* to load what tells of them */
	bool ends_lost;                       /* records of such ends, since they were looked for */
	uint64_t ends_suspected_ns;           /* when they were last */
	uint64_t follow_again_ns;   /* to try to be told of ends, which has failed; or 0 */
	bool follow_failed;         /* said once */
	bool news;                  /* the last pass brought programs that are new... */
	bool unfinished;            /* ...or has left something for the next one */
	uint64_t let_go_ns;         /* to let go of files again */
	uint64_t known_ns;          /* everything up to then has been taken in */
	uint64_t followed_ns;       /* when the CPUs were last looked at */
	bool repair_due;            /* records have been missed */
	uint64_t repaired_ns;       /* when that was made up for last; or 0 */
	atomic_bool ending;         /* what is not done yet is left */
	struct watch_hangs hangs;   /* who does not answer */
	struct read_time read_time; /* whose processes take how much time */
	bool cpus_failed;           /* said once until it is mended */
};

/* False without memory. Both are borrowed until deinit; @max_bytes is for all in here. */
bool watch_init(struct watch *watch, const struct profcol_host *host,
		const struct profcol_list *variables, size_t max_bytes);
void watch_deinit(struct watch *watch);

/* Listen, then read all processes there are. An error when no CPU can be listened to. */
PROFCOL_MUST_CHECK struct profcol_error *watch_start(struct watch *watch);

/* From now on hear of execs as soon as they happen; after the start, from any thread. 0 or a
 * negative errno. */
int watch_follow_execs(struct watch *watch);

/* Take in all records up to now, then what @notes ask for. */
void watch_pass(struct watch *watch, const struct note *notes, size_t count);

/* Once a second, or with the next pass after it, and when it wants to: CPUs that came or went,
 * repairs, metrics. */
void watch_keep_house(struct watch *watch);

/* Records have just been missed: who was sampled lately is not left without its mappings for long.
 */
bool watch_wants_repair(const struct watch *watch, uint64_t now_ns);
