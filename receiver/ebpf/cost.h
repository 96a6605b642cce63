/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiling costs this machine: read, shown as metrics, logged once an hour, and kept under
 * the limits of the option `overhead` (overhead.h).
 *
 * Threads: one at a time.
 */
#pragma once

#include "config.h"
#include "overhead.h"

#include "worker/worker.h"

#include <profcol/component.h>

enum cost_part {
	COST_AGENT,   /* this process, all threads: exporters and the rest of it as well */
	COST_WORKERS, /* processes that read files of profiled programs */
	COST_BPF,     /* the sampling program, which runs on the CPUs it samples; all BPF maps */
	COST_PARTS,
};

struct cost_reading {
	uint64_t now_ns;                   /* CLOCK_MONOTONIC */
	uint64_t cpu_ns[COST_PARTS];       /* since the start */
	uint64_t memory_bytes[COST_PARTS]; /* now */
	uint64_t tables_bytes; /* of these: of what files can be read again for; no less than what
				* is left of that in any case */
};

/* What the kernel side and the workers have told. */
struct cost_bpf {
	/* Since the start, of the sampling program where it walks. The others are shorter than what
	 * it would take to time them. */
	uint64_t run_ns;
	uint64_t map_bytes;    /* of all maps */
	uint64_t mapped_bytes; /* of these, what this process has mapped: its RSS counts it too */
	uint64_t tables_bytes; /* of these maps: unwind tables */
	uint64_t index_bytes;  /* of the workers' memory: indexes of functions */
};
struct cost_reading cost_read(const struct cost_bpf *bpf, const struct worker_use *workers);

/* Divides @bytes among unwind tables and symbols (names and indexes of functions), in proportion to
 * their options. Each gets the least that it can work with at least. */
struct cost_tables {
	uint64_t unwind_bytes, symbol_bytes;
};
struct cost_tables cost_divide_tables(const struct profiling_config *config, uint64_t bytes);

struct cost {
	const struct profcol_logger *logger;
	struct profcol_metric *cpu[COST_PARTS], *memory[COST_PARTS], *period, *lowered, *raised;
	struct overhead overhead;
	bool limited;             /* there is a limit of any kind */
	struct cost_reading hour; /* when the last line was logged, or it began */
	uint64_t workers_ns;      /* the most that was read: reaping is not atomic */
};

/* @host and @config are borrowed; the logger is, until the end. */
void cost_init(struct cost *cost, const struct profcol_host *host,
	       const struct profiling_config *config, const struct cost_reading *reading);

/*
 * Every few seconds: show @reading, log what is due. *@period_ns_ret and *@tables_bytes_ret are
 * what is to hold from now on; true when one of them has changed.
 */
bool cost_check(struct cost *cost, const struct cost_reading *reading, uint64_t *period_ns_ret,
		uint64_t *tables_bytes_ret);
