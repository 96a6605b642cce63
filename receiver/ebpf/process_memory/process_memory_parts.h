/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of process_memory.h share what is declared here, for its thread alone.
 * process_memory.c has the thread and what others ask, looks.c looks at processes for their
 * runtimes, frame_requests.c has frames read.
 */
#pragma once

#include "kept_memory.h"
#include "memory_metrics.h"
#include "process_memory.h"
#include "silent_owners.h"

#include "worker/worker.h"

#include <pthread.h>

enum {
	FLIGHTS = 40,      /* requests that workers have, and that wait for them */
	FRAMES_MOST = 512, /* in one request: some milliseconds */
};

/* A request that a worker has. */
struct flight {
	bool used;
	bool is_look;
	uint64_t begun_ns;  /* when its memory was wanted */
	uint64_t opened_ns; /* when it was opened: it is that of the program of then */
	struct process_look look;
	struct process_key key;
	uint32_t runtime; /* of frames: */
	struct runtime_frame frames[FRAMES_MOST];
	bool changed[FRAMES_MOST]; /* threads with another name than when they were sampled */
	size_t count;
	struct origin origin;      /* as of when they were taken, or it was looked at */
	struct code_map_state map; /* of the file that names code in memory of no file */
};

/* With room for as many as may wait. */
struct looks {
	VECTOR(struct process_look) all;
};

struct process_memory {
	const struct profcol_host *host;
	struct processes *processes;
	struct process_memory_tables tables;
	struct worker_pool *pool; /* owned; of the thread */
	struct silent_owners silent;
	struct kept_memory kept;
	struct memory_metrics metrics;
	struct flight flights[FLIGHTS];           /* by tag */
	struct runtime_frame frames[FRAMES_MOST]; /* of threads that are being asked for */

	pthread_t thread;
	bool running;
	pthread_mutex_t queue_lock; /* over the next; held for moments */
	pthread_cond_t wake;
	struct looks told;
	bool woken; /* there is something to do beside these */
	bool stopping;

	struct looks taken; /* of the thread */

	pthread_mutex_t lock; /* over the next; held while texts are copied at most */
	pthread_cond_t answered;
	struct frame_names names;
	size_t accounted; /* bytes, with processes */
};

/* One that is not used; NULL. */
struct flight *process_memory_flight(struct process_memory *memory);

/* A descriptor of the memory of the program that @flight is about, or a negative errno: -EAGAIN
 * while its owner is not read. */
int process_memory_open(struct process_memory *memory, struct flight *flight);

/* Was there a worker that gave no answer? That may be the process's own fault. */
bool process_memory_is_unanswered(enum worker_outcome outcome);

/* Have @look made, and tell how it has ended, now or when that is answered. */
void looks_begin(struct process_memory *memory, const struct process_look *look);
void looks_take_answer(struct process_memory *memory, struct flight *flight,
		       const struct worker_answer *answer);

/* Have the next frames read that are wanted. True when there may be more. */
bool frame_requests_begin(struct process_memory *memory);
void frame_requests_take_answer(struct process_memory *memory, struct flight *flight,
				const struct worker_answer *answer);
