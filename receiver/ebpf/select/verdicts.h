/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been decided of which program. One thread at a time: the owner locks.
 */
#pragma once

#include "rules.h"

#include "processes/processes.h"

#include "base/base.h"

struct verdict {
	struct process_key key;
	enum select_verdict verdict;
	bool queued;         /* it is to be decided, for the first time or anew */
	bool in_kernel;      /* the kernel side drops its samples */
	bool gone;           /* the program has ended */
	unsigned char late;  /* how often in a row it could not be decided in time */
	uint64_t decided_ns; /* CLOCK_MONOTONIC; 0 = never */
	uint64_t seen_ns;    /* of its last sample that came to user space */
	uint64_t lineage;    /* of select_facts */
};

/* Programs are dropped that have not been seen for a while and have ended; beyond this many, all
 * are decided anew of which nothing is known that could not be found out again. */
enum { VERDICTS_MAX = 16384 };

struct verdicts {
	VECTOR(struct verdict) rows;
	struct intern index; /* by pid */
	uint64_t seed;
};

void verdicts_init(struct verdicts *verdicts);
void verdicts_deinit(struct verdicts *verdicts);

/* Of the program @key; NULL. Valid until the next call that adds or drops. */
struct verdict *verdicts_find(struct verdicts *verdicts, const struct process_key *key);

/* As above, one that nothing is known of if need be. NULL without memory. */
struct verdict *verdicts_find_or_add(struct verdicts *verdicts, const struct process_key *key);

/* The lineage bits of any program of the process with the number @pid that started between the two
 * (CLOCK_BOOTTIME). */
uint64_t verdicts_lineage(const struct verdicts *verdicts, uint32_t pid, uint64_t earliest_ns,
			  uint64_t latest_ns);

/* Has the process of @verdict another program that was decided later? */
bool verdicts_is_superseded(const struct verdicts *verdicts, const struct verdict *verdict);

/* Drop those that @drop says so of. */
void verdicts_sweep(struct verdicts *verdicts,
		    bool (*drop)(void *context, const struct verdict *verdict), void *context);
