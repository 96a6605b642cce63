/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead controller keeps the profiler's own cost under the limits of the option `overhead`:
 * it decides the sampling rate and the size of tables, from nothing but the costs it is given.
 *
 * CPU is judged over windows that begin anew with each change of the rate, which is lowered as soon
 * as one of ten seconds is well over the limit, or one of thirty at all, and raised when one of
 * thirty leaves a fifth of the limit unused. What no rate changes, such as the reading of files, is
 * told apart by what two rates have cost.
 *
 * Memory over its limit is first taken from the tables that files are read for (unwind tables,
 * names and indexes of functions), then, once these are at their least, the rate is lowered, unless
 * it is a matter of seconds. When a fifth of the limit has been free for a while, the rate comes
 * back first, then the tables. A lower rate frees the memory of samples alone: when two steps down
 * have freed next to nothing, or show that the lowest rate would not be enough, the rate comes back
 * at once, and memory does not lower it again for ten minutes, then twenty and up to an hour, but
 * where clearly more is taken since; else a process that costs the profiler memory would cost
 * everybody samples. CPU alone never brings back a rate that was lowered for memory.
 *
 * Threads: one at a time.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stdint.h>

struct overhead_config {
	const char *cpu;       /* "0.5%" of one CPU; "": no limit */
	uint64_t memory_bytes; /* 0: no limit */
};

enum {
	OVERHEAD_LEAST_RATE = 1,          /* samples of a CPU in a second */
	OVERHEAD_LEAST_MEMORY = 32 << 20, /* bytes; as a limit: an idle one has some 25 MiB */
};

struct overhead_limits {
	double cpu;            /* CPU seconds in a second; 0: no limit */
	uint64_t memory_bytes; /* 0: no limit */
	uint64_t most_rate;    /* as configured: of a CPU in a second */
	uint64_t most_tables;  /* as configured: bytes, of all kinds */
	uint64_t least_tables; /* bytes: there is no sense in fewer */
};

/* The text of the option `cpu` as a share of one CPU, 0 for "". False: it is no such text. */
bool overhead_parse_cpu(const char *text, double *ret);

/* What it has cost by now. */
struct overhead_cost {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns; /* since the start: of all processes, of the sampling in the kernel */
	uint64_t memory_bytes; /* of all processes and BPF maps */
	uint64_t tables_bytes; /* of that, what tables have */
};

struct overhead {
	struct overhead_limits limits;
	double rate;
	double memory_rate;              /* higher ones need room in memory */
	uint64_t tables_bytes;           /* what the tables may hold */
	uint64_t begin_ns, begin_cpu_ns; /* of the window */
	double last_rate, last_cpu;      /* what another rate has cost lately; rate 0: unknown */
	uint64_t no_memory_change_before_ns, room_since_ns;
	double mean_bytes;  /* of memory, lately, */
	uint64_t mean_ns;   /* at this time */
	unsigned int steps; /* of the rate, for memory, since there was enough; from: */
	double tried_rate;
	double peak_rate,
		peak_bytes;     /* at which of these rates most memory was taken, and how much */
	uint64_t vain_until_ns; /* a lower rate has not helped, */
	double vain_bytes;      /* when so much was taken */
	uint64_t vain_ns;       /* how long that is believed the next time */
	bool at_floor;          /* told that no lower rate helps */
};

enum overhead_reason {
	OVERHEAD_STAYS,
	OVERHEAD_CPU,    /* over its limit */
	OVERHEAD_MEMORY, /* over its limit */
	OVERHEAD_ROOM,   /* for more */
	OVERHEAD_VAIN,   /* memory is over its limit, and would be at the lowest rate */
};

struct overhead_decision {
	enum overhead_reason rate_reason;   /* why the rate has changed */
	enum overhead_reason tables_reason; /* why what the tables may hold has changed */
	double cpu;                         /* that was measured; share of one CPU */
	enum overhead_reason floor_reason; /* once: it is over that limit even at the lowest rate */
};

void overhead_init(struct overhead *overhead, const struct overhead_limits *limits,
		   const struct overhead_cost *cost);

/* Called every few seconds. `rate` and `tables_bytes` are what is to hold from now on. */
struct overhead_decision overhead_check(struct overhead *overhead,
					const struct overhead_cost *cost);

uint64_t overhead_period_ns(const struct overhead *overhead); /* at `rate` */
