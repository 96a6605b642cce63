/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the running kernel's processes share: `processes` at work, and programs to follow.
 * Needs root; without it live_or_skip() skips the test.
 */
#pragma once

#include "processes/processes.h"

#include "base/base.h"
#include "target.h"

#include <pthread.h>
#include <sys/types.h>

/* Ample for a machine that does other things too. */
static const uint64_t LIVE_PATIENCE_NS = 120000000000;

/* A call of the function given to processes_on_change. */
struct live_change {
	struct process_key key;
	bool alive;
};

struct fixture {
	struct profcol_host host;
	struct profcol_logger logger;
	struct profcol_list variables;
	struct profcol_metric metrics[32];
	size_t metric_count;
	struct processes *processes;
	pthread_mutex_t changes_lock;
	pthread_cond_t changes_grown;
	VECTOR(struct live_change) changes; /* all of them, in order */
	char directory[64], target[96], plugin[96];
};

int live_set_up(void **state);
int live_tear_down(void **state);
struct fixture *live_or_skip(void **state);

struct child {
	pid_t pid;
	int input, output; /* of ours: to its standard input, from its standard output */
	struct process_key key;
};

/* As the kernel would put it on a sample, to the precision of /proc. */
struct process_key live_key_of(pid_t pid);

/* What runs in the child before the program is exec'd. */
typedef void (*prepare_function)(const struct fixture *fixture);

/* The target, with @wait as its second argument; stays until live_end if that is "wait". */
struct child live_start(const struct fixture *fixture, const char *wait, prepare_function prepare);
struct target_says live_hear(const struct child *child);
void live_end(struct child *child);

/* Wait until all is known that happened before this call. */
void live_catch_up(struct fixture *fixture);

/* A sample of @key, and wait until all is known that happened before this call. */
void live_note(struct fixture *fixture, const struct process_key *key, uint64_t time_ns);
