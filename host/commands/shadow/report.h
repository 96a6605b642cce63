/* SPDX-License-Identifier: Apache-2.0 */
/* What `shadow` has found, for people and for programs. Pure. */
#pragma once

#include "comparison.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { REPORT_PIDS_MAX = 16 };

/* What a profiler has cost in the time that was asked for; NaN = not known. */
struct report_cost {
	double cpu;          /* of one CPU, 1 = all of it */
	double bpf;          /* the same, of its BPF programs */
	double memory_bytes; /* resident, at the end */
	double maps_bytes;   /* of BPF maps, at the end */
};

struct report {
	const char *version;                 /* of profcol */
	const char *address;                 /* where the other sends to */
	const struct tally *tally;           /* closed */
	const struct comparison *comparison; /* of @tally */
	struct report_cost costs[TALLY_SIDES];
	pid_t pids[REPORT_PIDS_MAX]; /* of the other */
	size_t pid_count;            /* 0 = not found */
	bool pids_ended;             /* not all have been there from begin to end */
	uint64_t lost;               /* by ours, in the whole run */
	const char *lost_causes;     /* "" = none */
};

/* At most 100 columns wide. */
void report_print(const struct report *report, FILE *to);

/* False without memory. */
bool report_print_json(const struct report *report, FILE *to);

/* Bytes of OTLP, uncompressed, that the compared samples of @side have taken. */
uint64_t report_bytes(const struct report *report, enum tally_side side);
