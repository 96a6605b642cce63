/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file in which a program names code that it has made, as perf has agreed on with such programs
 * (tools/perf/Documentation/jit-interface.txt of the kernel's sources): /tmp/perf-PID.map, by its
 * own number, in its own root. Any thread.
 */
#pragma once

#include "timed_calls.h"

#include <stdbool.h>
#include <stdint.h>

/* What tells one content of such a file from another. */
struct code_map_state {
	uint64_t bytes;      /* how long it is */
	int64_t modified_ns; /* when it was written to: one that is written anew may be as long */
};

static inline bool code_map_state_equal(struct code_map_state a, struct code_map_state b)
{
	return a.bytes == b.bytes && a.modified_ns == b.modified_ns;
}

struct perf_map_search {
	uint32_t pid;
	struct owner owner;         /* of the process, whom it costs when that takes long */
	uint64_t start_boottime_ns; /* when it started */
};

/*
 * A descriptor for reading the map of a process; the caller's to close. It is a file of the
 * process's own user, written since it started, that no link leads to. -ENOENT when there is none,
 * -EPERM when it is somebody else's or older, -ETIMEDOUT after @limit_ns or while an earlier call
 * for the process still waits, or another negative errno.
 */
int perf_map_open(struct timed_calls *calls, const struct perf_map_search *search,
		  uint64_t limit_ns, struct code_map_state *ret);
