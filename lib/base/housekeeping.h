/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a thread looks after what nobody tells it of: every second while it has work, and ever more
 * seldom when it has none, so that an idle machine can sleep. Times are CLOCK_MONOTONIC, in ns.
 *
 * Threads: none of its own; one housekeeping belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { HOUSEKEEPING_NS = 1000000000 };

static const uint64_t HOUSEKEEPING_IDLE_NS = 10000000000; /* between two looks, at most */

/* Zeroed: a look is due, and there was never any work. */
struct housekeeping {
	uint64_t due_ns;  /* of the next look: the thread is to sleep no longer */
	uint64_t work_ns; /* when there was work last */
};

/* There is work now: the next look is due within a second. */
void housekeeping_note_work(struct housekeeping *housekeeping, uint64_t now_ns);

/* The thread looks now, due or not. */
void housekeeping_note_look(struct housekeeping *housekeeping, uint64_t now_ns);

/* Is it time to look? True notes a look as of @now_ns, so the caller has to look then. */
bool housekeeping_is_due(struct housekeeping *housekeeping, uint64_t now_ns);
