/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * User space and the program that looks at waits that have not ended (unfinished.bpf.h) share this
 * variable. A pass is one look at all threads: the first one of all notes those that
 * sleep already; then one counts, and one tells, each time a batch is closed.
 */
#pragma once

#include <linux/types.h>

enum {
	OFF_CPU_PASS_LENGTHS = 64, /* power of two */
	/* The next batch has shorter parts, or the end of the wait. */
	OFF_CPU_PASS_LEAST_NS = 100000000,
	OFF_CPU_PASS_RECORD_BYTES = 2048, /* of one thread, at most: head, 128 frames, registers */
};

struct off_cpu_pass {
	__u64 threshold; /* by which parts of waits are kept (event_budget.h); 0: they are counted
			  */
	__u32 begins;    /* 1: the first pass */
	__u32 share; /* where a share is fixed, in place of the threshold: as in off_cpu.bpf.c */
	__u64 lengths[OFF_CPU_PASS_LENGTHS]; /* parts that were counted, by the bits of their length
					      */
};
