/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that may never return, such as those that ask a file system whose server is gone, or look
 * into a process that holds the lock of its own memory: they are made by threads of their own,
 * which are left behind when it takes too long.
 *
 * Who hangs costs itself: while a call is left behind, no other of its key is made; one owner has
 * only some of the threads, all containers of one user have no more than four times as many, and an
 * owner whose calls were waited for long is not waited for any more for a while. A call that has
 * no CPU is not one that hangs: its time does not count meanwhile.
 *
 * Any thread. What a call works on belongs to the call, since it may outlive all others.
 */
#pragma once

#include "owner.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct timed_calls;

/* What may keep a call. */
enum timed_call_kind { TIMED_CALL_PROCESS, TIMED_CALL_FILE_SYSTEM, TIMED_CALL_KINDS };

/* What a call asks. Two keys are one if they are equal in all. */
struct timed_call_key {
	enum timed_call_kind kind;
	uint64_t what;      /* the number of a process, or of a device and more */
	struct owner owner; /* whom it costs */
};

/* The first member of what a call works on. */
struct timed_call {
	void (*run)(struct timed_call *call);
	void (*destroy)(struct timed_call *call); /* frees it; by whoever has it last */
	struct timed_call_key key;

	/* Of timed_calls.c: */
	struct timed_calls *calls;
	struct timed_call *next;
	uint64_t begun_ns; /* CLOCK_MONOTONIC; 0 = not yet */
	uint64_t limit_ns;
	pid_t thread;
	bool done, left_behind;
	_Atomic bool returned; /* `run` has; its thread may still wait for the lock */
};

/* `destroy` of a call that owns nothing besides. */
void timed_call_free(struct timed_call *call);

struct timed_calls *timed_calls_create(void); /* NULL without memory */
void timed_calls_destroy(
	struct timed_calls *calls); /* accepts NULL; waits for nobody left behind */

/*
 * Have @call made. True: it is done, and the caller's again. False: not within @limit_ns of its
 * begin, or not begun, since one of its key or too many of its owner have been left behind; it is
 * not the caller's any more.
 */
bool timed_calls_make(struct timed_calls *calls, struct timed_call *call, uint64_t limit_ns);

/* For `run`: @call goes on to @key. False: it may not, as if it began with that, or it has been
 * left behind; it keeps the key it had. */
bool timed_call_goes_on(struct timed_call *call, struct timed_call_key key);

struct timed_calls_counts {
	struct {
		uint64_t left_behind; /* so far */
		uint64_t refused;     /* not begun for that reason */
		unsigned int hanging; /* at present, for longer than what is only slow takes */
		uint64_t what;        /* of one of these */
		struct owner owner;   /* of the same */
	} of[TIMED_CALL_KINDS];
};
struct timed_calls_counts timed_calls_counts(struct timed_calls *calls);
