/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profiler costs: its process with its children, and its BPF programs and maps, as /proc
 * has them. The same for every profiler. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profiler_cost {
	uint64_t now_ns;       /* CLOCK_MONOTONIC; 0 = could not be read, or not of all */
	uint64_t starts;       /* as long as this stays, they are the same processes */
	uint64_t cpu_ns;       /* of the processes since their starts */
	uint64_t bpf_ns;       /* of the programs, since the kernel has timed them */
	uint64_t memory_bytes; /* resident */
	uint64_t maps_bytes;   /* of BPF maps */
	bool has_bpf;          /* else none of it is theirs, or may not be looked at */
};

/* Have the kernel time BPF programs for as long as the descriptor is open, which the caller owns.
 * -1 when it does not, or may not be asked to. */
int profiler_cost_time_programs(void);

/* Of @pids together, with their children, and of those that have ended. */
struct profiler_cost profiler_cost_read(const pid_t *pids, size_t count);

/* Of ourselves, without the CPU time of threads that serve gRPC, which only a comparison needs. */
struct profiler_cost profiler_cost_read_own(void);
