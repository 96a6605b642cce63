/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose walk the kernel side has deferred, since the process, the mapping or the rules of
 * the code were not in the tables yet (struct sample_deferred). They wait until those are known,
 * their walk is finished by the copy of the stack, and they go on as if nothing had been missing.
 * What does not come in time goes on as far as it was walked. Where nothing is missing, and the
 * stack was copied to be walked here, that is done at once.
 *
 * Threads: one at a time.
 */
#pragma once

#include "sample.h"

#include "tables/tables.h"

#include <profcol/component.h>

/* After its time a sample waits so long at most for its code to be known: a worker may have to read
 * a large file, on a busy machine. */
#define DEFERRED_WAIT_NS 2000000000ull

struct deferred;

struct deferred_options {
	uint64_t stack_bytes; /* what the kernel side copies at most */
	uint32_t depth;       /* frames of user code at most */
	bool verify; /* samples come with copies of stacks that need none, to be compared */
};

/* NULL without memory. Both are borrowed until destroy. */
struct deferred *deferred_create(const struct profcol_host *host, struct tables *tables,
				 const struct deferred_options *options);
void deferred_destroy(struct deferred *deferred); /* accepts NULL; what waits is gone */

/* Takes a record (bpf/sample.h), complete, with or without a deferred walk. Valid for the call. */
typedef void (*deferred_function)(void *context, const void *record, size_t length);

/*
 * Take @record, which has a deferred walk. One of which nothing is missing is walked and handed to
 * @take; so is one that there is no room for, as far as it can be walked now, which is counted, and
 * one that is malformed, as it is. True: it waits, a copy is kept.
 */
bool deferred_take(struct deferred *deferred, const void *record, size_t length, uint64_t now_ns,
		   deferred_function take, void *context);

/*
 * Hand those to @take that need not wait any longer at @now_ns, without deferred walks. Of
 * processes all is known that happened before @known_ns (processes_known_ns, read before). Both
 * CLOCK_MONOTONIC.
 */
void deferred_release(struct deferred *deferred, uint64_t now_ns, uint64_t known_ns,
		      deferred_function take, void *context);

/* Hand over all, as far as they can be walked now. */
void deferred_flush(struct deferred *deferred, deferred_function take, void *context);

size_t deferred_count(const struct deferred *deferred); /* that wait */
