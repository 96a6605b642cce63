/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that may never return, such as those that ask a file system whose server is gone: they are
 * made by threads of their own, which are left behind when it takes too long.
 *
 * Any thread. What a call works on belongs to the call, since it may outlive all others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct timed_calls;

/* The first member of what a call works on. */
struct timed_call {
	void (*run)(struct timed_call *call);
	void (*destroy)(struct timed_call *call); /* frees it; by whoever has it last */
	/* What it asks: while one that was left behind has it, no other is made. While many have
	 * been, only those are that ask whom answered before. */
	uint64_t key;

	/* Of timed_calls.c: */
	struct timed_call *next;
	uint64_t begun_ns; /* CLOCK_MONOTONIC; 0 = not yet */
	bool done, left_behind;
};

struct timed_calls *timed_calls_create(void); /* NULL without memory */
void timed_calls_destroy(
	struct timed_calls *calls); /* accepts NULL; waits for nobody left behind */

/*
 * Have @call made. True: it is done, and the caller's again. False: not within @limit_ns of its
 * begin, or not begun, since one of its key or too many have been left behind; it is not the
 * caller's any more.
 */
bool timed_calls_make(struct timed_calls *calls, struct timed_call *call, uint64_t limit_ns);

/* How many were left behind so far, and how many were not begun for that reason. */
struct timed_calls_counts {
	uint64_t left_behind, refused;
};
struct timed_calls_counts timed_calls_counts(struct timed_calls *calls);
