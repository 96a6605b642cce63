/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The toy interpreter of the tests (tests/targets/toy): the smallest runtime that has all parts of
 * one that interprets. All of it but the descriptor, for its tests.
 */
#pragma once

#include "runtimes/runtime.h"

/* What a file says of itself. */
struct toy_layout {
	uint64_t about;                  /* ELF address of struct toy_about */
	uint64_t loop_start, loop_limit; /* the same, of the interpreter's code */
};

/* What the section .toy.about holds, in the file and in memory. */
struct toy_about {
	char magic[8];    /* TOY_MAGIC */
	uint64_t version; /* of the structures in memory */
	uint64_t threads; /* address of the first struct toy_thread; 0: there is none yet */
};

#define TOY_MAGIC   "TOYABOUT"
#define TOY_VERSION 1

/* Members of struct runtime. */
bool toy_recognise(const struct runtime_file *file, void *layout_ret);
bool toy_check(const void *layout);
size_t toy_loops(const void *layout, struct runtime_loop ret[RUNTIME_LOOPS]);
bool toy_attach(const void *layout, uint64_t base, const struct runtime_memory *memory,
		struct runtime_found *ret);
enum runtime_outcome toy_resolve(const struct runtime_process *process,
				 const struct runtime_memory *memory,
				 const struct runtime_frame *frame, const struct runtime_lines *to);
