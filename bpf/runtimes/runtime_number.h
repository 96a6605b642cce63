/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The numbers of the language runtimes, as ranges have them (unwind_range_kind) and samples. What
 * is kept on disk has them, too: a number is never given to another one.
 */
#pragma once

#include "unwind_tables.h"

enum {
	RUNTIME_LOOPS = 4,        /* pieces of code in which one runtime interprets, at most */
	RUNTIME_DATA_BYTES = 512, /* of the data of one process for the kernel side, at most */
};

/* The data of a process begin with its loops; those of its runtime follow. */
struct runtime_data {
	struct runtime_loop {
		/* Addresses; both 0: none. To the kernel side they are bytes from the first page of
		 * the file's text on: its file may be mapped more than once. */
		__u64 start, limit;
	} loops[RUNTIME_LOOPS];
};

enum runtime_number {
	RUNTIME_NONE,
	RUNTIME_HOTSPOT = 1,
	RUNTIME_GO = 2,
	RUNTIME_CPYTHON = 3,
	RUNTIME_V8 = 4,
	RUNTIME_TOY = 31, /* of tests: only in programs that are built with them */
	RUNTIMES = 32,    /* one more than the last */
};

/* Runtimes whose frames are native code's: walks need to know nothing of them. */
#define RUNTIMES_OF_NATIVE_FRAMES (1u << RUNTIME_GO)

_Static_assert(UNWIND_RANGE_RUNTIME + RUNTIMES <= UNWIND_RANGE_LOOP, "kinds are different ones");
_Static_assert(UNWIND_RANGE_LOOP + RUNTIMES <= 256, "a kind is a byte");
_Static_assert(RUNTIMES <= 32, "sets of them are words");
_Static_assert(RUNTIMES <= 1 << UNWIND_FRAME_NUMBER_BITS, "a frame has room for the number");
