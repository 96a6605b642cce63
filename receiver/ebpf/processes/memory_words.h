/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words in the memory of another process. What lies there may be a file's on a server that is gone:
 * it is read by timed_calls.h. Any thread.
 */
#pragma once

#include "timed_calls.h"

#include <stddef.h>
#include <stdint.h>

enum { MEMORY_WORDS_MOST = 64 };

/*
 * Read the 8 bytes at each of @count @addresses of process @pid, MEMORY_WORDS_MOST at most, which
 * takes CAP_SYS_PTRACE. 0, -ETIMEDOUT after @limit_ns or while an earlier call for the process
 * still waits, or another negative errno when one of them cannot be read.
 */
int memory_words_read(struct timed_calls *calls, uint32_t pid, const uint64_t *addresses,
		      size_t count, uint64_t limit_ns, uint64_t *ret);
