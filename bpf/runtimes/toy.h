/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The receiver tells the kernel side where the toy interpreter's structures lie in a process, and
 * how they look: tests/targets/toy/toy.h, version 1. Addresses are the process's.
 */
#pragma once

#include "runtime_number.h"

struct toy_data {
	struct runtime_data runtime;
	__u64 threads; /* address of the word that leads to the first thread */
};

/* The threads that run toy programs are a list. */
struct toy_thread {
	__u64 next;
	__u64 self; /* its register for its own variables */
	__u64 call; /* the innermost struct toy_call; or 0 */
};

/* A call of the interpreter by C code. It lies in the frame of who called the loop, so that stacks
 * tell which of them has been entered. */
struct toy_call {
	__u64 outer; /* the one before it; or 0 */
	__u64 frame; /* the innermost struct toy_frame of it; or 0 */
};

struct toy_frame {
	__u64 caller; /* in the same call; or 0 */
	__u64 code;   /* struct toy_code */
	__u32 position;
	__u32 reserved;
};

/* A function. */
struct toy_code {
	__u32 serial; /* no two have the same; 0: it is none any more */
	__u32 start_line;
	__u64 name, file; /* struct toy_text */
	__u64 rows;       /* struct toy_row[] */
	__u32 row_count;
	__u32 reserved;
};

struct toy_text {
	__u32 bytes; /* that follow: UTF-8 */
};

/* From @position on, up to the next one, it is @line. */
struct toy_row {
	__u32 position, line;
};

_Static_assert(sizeof(struct toy_data) <= RUNTIME_DATA_BYTES && sizeof(struct toy_data) % 8 == 0,
	       "it is told as it is");
_Static_assert(sizeof(struct toy_thread) == 24, "as it lies in processes");
_Static_assert(sizeof(struct toy_call) == 16, "the same");
_Static_assert(sizeof(struct toy_frame) == 24, "the same");
_Static_assert(sizeof(struct toy_code) == 40, "the same");
