/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This reads the stack of a thread that sleeps from its process's memory. That may have to be
 * waited for, a page from a file system whose server is gone, so timed_calls.h does it. Any thread.
 */
#pragma once

#include "timed_calls.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STACK_READ_MOST = 32768 };

struct stack_query {
	uint32_t pid, tid;
	uint64_t runs; /* how often the thread was given a CPU when it was known to sleep so */
	uint64_t address;
	size_t bytes; /* STACK_READ_MOST at most; 0: only whether it still sleeps */
};

/*
 * Read what can be read in one piece from the address on to @to. Returns how many bytes. -ESTALE:
 * the thread has run since, or has ended; nothing that was known of its stack is true any more.
 * -ETIMEDOUT (after @limit_ns), -EOPNOTSUPP or -ENOMEM: one cannot know. Another negative errno: it
 * still sleeps, but the stack cannot be had. It takes CAP_SYS_PTRACE.
 */
ssize_t stack_read(struct timed_calls *calls, const struct stack_query *query, struct owner owner,
		   uint64_t limit_ns, void *to);
