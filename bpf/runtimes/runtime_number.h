/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The numbers of the language runtimes, as ranges have them (unwind_range_kind) and samples. What
 * is kept on disk has them, too: a number is never given to another one.
 */
#pragma once

#include "unwind_tables.h"

enum {
	RUNTIME_LOOPS = 4,        /* pieces of code in which one runtime interprets, at most */
	RUNTIME_DATA_BYTES = 512, /* of what the kernel side is told of one process, at most */
};

/* What every runtime that interprets is told of a process; its own data follow. */
struct runtime_data {
	struct runtime_loop {
		__u64 start, limit; /* addresses; both 0: none */
	} loops[RUNTIME_LOOPS];
};

enum runtime_number {
	RUNTIME_NONE,
	RUNTIME_HOTSPOT = 1,
	RUNTIME_GO = 2,
	RUNTIMES = 3, /* one more than the last */
};

_Static_assert(UNWIND_RANGE_RUNTIME + RUNTIMES <= UNWIND_RANGE_LOOP, "kinds are different ones");
_Static_assert(UNWIND_RANGE_LOOP + RUNTIMES <= 256, "a kind is a byte");
_Static_assert(RUNTIMES <= 1 << UNWIND_FRAME_NUMBER_BITS, "a frame has room for the number");
