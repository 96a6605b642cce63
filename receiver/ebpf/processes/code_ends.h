/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable memory that processes give up, by munmap(2), mprotect(2), mremap(2) or by mapping
 * something else there, as the kernel side tells of it (bpf/code_ends.bpf.c).
 *
 * It is listened to while there are processes to follow: whoever changes its map of memory pays for
 * it, 0.2 us each time.
 *
 * Threads: one at a time.
 */
#pragma once

#include "sample.h"

#include <stdint.h>

struct code_ends;

/*
 * Load the programs. 0, or a negative errno: then *@ret is NULL. -EOPNOTSUPP on kernels that would
 * make every page fault pay (before 6.4).
 */
int code_ends_create(struct code_ends **ret);
void code_ends_destroy(struct code_ends *ends); /* accepts NULL */

/* Readable when much waits to be taken. */
int code_ends_fd(const struct code_ends *ends);

/* Memory of the kernel side's ring buffer; any thread. */
uint64_t code_ends_map_bytes(const struct code_ends *ends);

/* Follow process @pid, or no more. 0; or a negative errno, then it is not followed. Nothing changes
 * when it was so before. */
int code_ends_follow(struct code_ends *ends, uint32_t pid);
void code_ends_leave(struct code_ends *ends, uint32_t pid);

typedef void (*code_ends_function)(void *context, const struct code_end_record *record);

/* Pass all there are to @take, nearly by time. Returns how many were lost since the last call. */
uint64_t code_ends_take(struct code_ends *ends, code_ends_function take, void *context);
