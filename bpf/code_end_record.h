/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What code_ends.bpf.c tells the receiver (receiver/ebpf/processes/code_ends.h) of code that a
 * process has given up. Fixed widths, no padding, native byte order.
 */
#pragma once

#include <linux/types.h>

/* What was executable at [start, limit) is so no more; [0, 0): somewhere. */
struct code_end_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 start, limit;
	__u32 pid; /* thread group, in the profiler's PID namespace */
	__u32 reserved;
};

_Static_assert(sizeof(struct code_end_record) == 32, "layout of the record of an end of code");
