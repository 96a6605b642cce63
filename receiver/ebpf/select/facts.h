/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out about a process what rules ask for. What the kernel told of it (processes.h) comes
 * first, since that is right for the time of the sample and outlives the process; /proc is read
 * for its cgroup, and for what was not told. What may be another program's or another process's
 * counts as unknown. One thread at a time for each struct facts.
 */
#pragma once

#include "rules.h"

#include "processes/processes.h"

#include <limits.h>

/* Whose sample it was. */
struct select_subject {
	struct process_key key;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t uid;     /* or SAMPLE_NO_UID */
	bool caught_up;   /* what the kernel told before the sample is known to `processes` */
	uint64_t lineage; /* of select_facts: what is known to be so already */
};

struct facts {
	struct select_facts view; /* points to what follows */
	struct process_names names;
	char *cgroups; /* owned */
	bool late;     /* something is unknown only since it was not told in time */
};

/* The lineage bits that are known of the process with the number @pid that started between the two
 * (CLOCK_BOOTTIME). */
typedef uint64_t (*facts_lineage_function)(void *context, uint32_t pid, uint64_t earliest_ns,
					   uint64_t latest_ns);

/* facts_deinit is the caller's to call. @lineage_of is asked of ancestors. */
void facts_gather(struct facts *facts, struct processes *processes,
		  const struct select_rules *rules, const struct select_subject *subject,
		  facts_lineage_function lineage_of, void *context);
void facts_deinit(struct facts *facts);

/* Does the process of @key still run, and is its number not another one's? */
bool facts_is_alive(struct processes *processes, const struct process_key *key);
