/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two profilers have sampled on one machine, in one time that both have covered. Which time
 * that is shows as it goes: it begins when the other's first batch arrives (its later ones will
 * arrive, too), and ends where both have told what they have. Until then observations wait.
 *
 * Bounded: what does not fit is counted. Threads: any, from tally_create to tally_close; then one.
 */
#pragma once

#include "places.h"
#include "stacks.h"

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <pthread.h>

enum tally_side { TALLY_OWN, TALLY_OTHER, TALLY_SIDES };

/* Observations that are alike. */
struct tally_row {
	uint32_t process;
	uint32_t leaf, end; /* place ids */
	enum stack_end how;
	uint64_t count;
};

/* A program in a process, as both describe it, or what stands for one: exec, and whoever gets the
 * PID later, make another. Texts are ids of `places`; 0 = none. */
struct tally_process {
	int64_t pid; /* -1 = not said */
	uint32_t service, executable, container;
	bool refused; /* it has a name for which there was no room */
};

/* Observations are samples of CPU time. */
struct tally_side_figures {
	uint64_t inside, before, after; /* of the time that both have covered */
	uint64_t untimed;               /* of these, without a time stamp of their own */
	uint64_t unplaced;              /* not compared: there was no room */
	uint64_t other_kinds;           /* not compared: no samples of CPU time */
	uint64_t unscaled; /* not compared: values of CPU time without time stamps and period */
	uint64_t observed, bytes; /* of batches since the time began: observations, whenever they
				   * were, and their part of the OTLP, uncompressed */
	uint64_t period_ns;       /* between two samples of a CPU; 0 = not said */
	uint64_t covered_ns;      /* Unix time: until then it has told what it has */
};

struct tally {
	pthread_mutex_t lock;
	struct places places;
	uint32_t idle, kernel, not_named; /* texts: services of those without any name */
	VECTOR(struct tally_process) processes;
	struct intern process_index; /* by PID and executable */
	struct intern newest_index;  /* by PID, of `newest` */
	VECTOR(uint32_t) newest;     /* process ids: the last that the PID has got */
	struct tally_table *tables;  /* TALLY_SIDES of them */
	struct tally_side_figures figures[TALLY_SIDES];
	uint64_t span_ns;        /* as asked for */
	uint64_t settled_ns;     /* Unix time: what had come and lies before is counted */
	uint64_t from_ns, to_ns; /* Unix time; 0 = has not begun */
	uint64_t spent_ns;       /* CPU time in here of the threads of our own receiver */
};

/* Compare @span_ns. NULL without memory. */
struct tally *tally_create(uint64_t span_ns);
void tally_destroy(struct tally *tally); /* accepts NULL */

/* @batch of @side (borrowed) has come at @now_ns (Unix time). */
PROFCOL_MUST_CHECK struct profcol_error *tally_add(struct tally *tally, enum tally_side side,
						   const struct profcol_batch *batch,
						   uint64_t now_ns);

struct tally_progress {
	uint64_t from_ns, to_ns;       /* 0 = has not begun */
	uint64_t samples[TALLY_SIDES]; /* since then */
	uint64_t other_covered_ns;
	uint64_t spent_ns;
};
struct tally_progress tally_look(struct tally *tally);

/* No batch comes any more; ours have told all until @own_end_ns. The time that is compared is
 * now from_ns to to_ns. */
void tally_close(struct tally *tally, uint64_t own_end_ns);

/* Of one side, after tally_close. */
const struct tally_row *tally_rows(const struct tally *tally, enum tally_side side,
				   size_t *count_ret);
