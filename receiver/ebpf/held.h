/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches on their way out of the receiver. What is of a container that is new, and that the
 * components behind cannot describe yet, is held until they can: finished profiles, with the
 * names, the times and the window that they were made with. The rest goes on at once.
 *
 * Whoever waits goes on once it is known, once the container is not new any more, or when too much
 * is held, the oldest first. Without memory, nobody waits.
 *
 * Threads: the reporter's.
 */
#pragma once

#include "containers.h"

#include <profcol/batch.h>
#include <profcol/component.h>

struct held;

/*
 * @containers are new for @new_ns after their first sample; 0: nothing is ever held. Who is not
 * among them does not wait: the caller has met those of a batch before held_add. What goes on is
 * handed to @pass, which takes the batch. NULL without memory. @host and @containers are borrowed
 * until destroy.
 */
struct held *held_create(const struct profcol_host *host, const struct containers *containers,
			 uint64_t new_ns, void (*pass)(void *context, struct profcol_batch *batch),
			 void *context);
void held_destroy(struct held *held); /* accepts NULL; held_flush has been called */

/* Hold what has to wait of @batch (taken), pass on the rest. @now_ns: CLOCK_MONOTONIC. */
void held_add(struct held *held, struct profcol_batch *batch, uint64_t now_ns);

/* Pass on what need not wait any longer. Cheap when nothing is held. True: something is. */
bool held_check(struct held *held, uint64_t now_ns);

/* Pass on all, and hold nothing from now on. */
void held_flush(struct held *held);
