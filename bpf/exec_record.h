/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What exec.bpf.c tells the receiver (receiver/ebpf/processes/execs.h) of each exec. Fixed widths,
 * no padding, native byte order.
 */
#pragma once

#include <linux/types.h>

/* Another program runs, with its interpreter mapped and nothing of it executed yet. */
struct exec_record {
	__u64 time_ns;           /* CLOCK_MONOTONIC; the side-band has told the rest before */
	__u64 start_boottime_ns; /* of the thread group's leader, CLOCK_BOOTTIME */
	__u32 pid;               /* thread group, in the profiler's PID namespace */
	__u32 exec_id;           /* task_struct.self_exec_id, low half: with it samples come */
};

_Static_assert(sizeof(struct exec_record) == 24, "layout of an exec's record");
