/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_memory keeps the memory of programs open that are read again and again. A descriptor of
 * /proc/PID/mem stays that of the program that ran when it was opened, and keeps none of its pages
 * but the topmost of their tables: once the program has ended, reads give nothing. Closing one
 * waits for nobody. One thread at a time.
 */
#pragma once

#include "processes/processes.h"

#include <stddef.h>
#include <stdint.h>

enum { KEPT_MEMORIES = 64 };

/* All zero is one that keeps nothing. */
struct kept_memory {
	struct kept_program {
		struct process_key key;
		uint64_t opened_ns, used_ns;
		int fd; /* owned */
	} programs[KEPT_MEMORIES];
	size_t count;
};

/* A copy, the caller's to close, of what is kept of the program of @key, and when that was opened;
 * -1: nothing is, or there is no room for a copy. */
int kept_memory_copy(struct kept_memory *kept, const struct process_key *key, uint64_t now_ns,
		     uint64_t *opened_ns_ret);

/* Keep a copy of @fd, which was opened at @opened_ns and stays the caller's, for the program of
 * @key, in place of what is kept of it. When there is no room the one used longest ago goes. */
void kept_memory_add(struct kept_memory *kept, const struct process_key *key, int fd,
		     uint64_t opened_ns);

/* Close what is kept of the program of @key, if anything is. */
void kept_memory_drop(struct kept_memory *kept, const struct process_key *key);

/* Close all that was not used since @time_ns; UINT64_MAX closes everything. */
void kept_memory_trim(struct kept_memory *kept, uint64_t time_ns);
