/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that were killed and have not ended: the kernel ends nobody who waits inside a file
 * system. Where there are some of one owner, or of one device, no more workers go. One thread at a
 * time.
 */
#pragma once

#include "origin.h"

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	STUCK_OF_DEVICE = 2, /* so many of one device are enough, */
	STUCK_OF_PAYER = 4,  /* and of one who pays (owner_payer), who can have many devices */
};

/* A process that was killed has this long to end before it counts. */
static const uint64_t STUCK_AFTER_NS = 1000000000;

struct stuck_worker {
	pid_t pid;
	struct origin origin;
	uint64_t killed_ns;
};

/* All zero is an empty one. */
struct stuck_workers {
	VECTOR(struct stuck_worker) workers;
};

void stuck_deinit(struct stuck_workers *stuck);

/* Process @pid, a child that was killed at @now_ns (CLOCK_MONOTONIC) and read @origin last, has not
 * ended. Waits for it without memory. */
void stuck_add(struct stuck_workers *stuck, pid_t pid, struct origin origin, uint64_t now_ns);

/* Those that have ended are stuck no longer. */
void stuck_reap(struct stuck_workers *stuck);

/* Are there so many of @origin's at @now_ns that no other worker should read it? */
bool stuck_forbid(const struct stuck_workers *stuck, struct origin origin, uint64_t now_ns);
