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
	STUCK_OF_OWNER = 4,  /* and of one owner, who can have many devices */
};

struct stuck_worker {
	pid_t pid;
	struct origin origin;
};

/* All zero is an empty one. */
struct stuck_workers {
	VECTOR(struct stuck_worker) workers;
};

void stuck_deinit(struct stuck_workers *stuck);

/* Of a worker that was not ended for taking too long: it hangs nowhere, and ends in a moment. */
static const struct origin STUCK_NOWHERE = { { UINT32_MAX - 2, 0 }, 0 }; /* OWNER_NOBODY */

/* Process @pid, a child that was killed while it read @origin, has not ended. Waits for it without
 * memory. */
void stuck_add(struct stuck_workers *stuck, pid_t pid, struct origin origin);

/* Those that have ended are stuck no longer. */
void stuck_reap(struct stuck_workers *stuck);

/* Are there so many of @origin's that no other worker should read it? */
bool stuck_forbid(const struct stuck_workers *stuck, struct origin origin);
