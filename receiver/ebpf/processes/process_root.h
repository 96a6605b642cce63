/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which root directory a process sees its files through, that is, whose files these are: a
 * container has its own. Never waits for a file system. Any thread.
 */
#pragma once

#include "timed_calls.h"

#include <stdbool.h>
#include <stdint.h>

/* The mount that the root lies on, which is of one mount namespace alone, and the directory there.
 * All zero: not known. */
struct process_root {
	uint64_t mount, device, inode;
};

static inline bool process_root_is_known(const struct process_root *root)
{
	return root->mount;
}

static inline bool process_root_equal(const struct process_root *a, const struct process_root *b)
{
	return a->mount == b->mount && a->device == b->device && a->inode == b->inode;
}

/* Of process @pid; false when it has ended, or may not be looked at. Newer kernels have it wait for
 * the process's exec. */
bool process_root_read(uint32_t pid, struct process_root *ret);

/* A question asks for the root of the first of @count processes @pids that has one; @count is not
 * 0. */
enum { PROCESS_ROOT_PIDS = 4, PROCESS_ROOTS_AT_ONCE = 16 };
struct process_root_question {
	uint32_t pids[PROCESS_ROOT_PIDS];
	size_t count;
	uint32_t found; /* the answer: which of these it is; 0: none has one, or one let us wait */
	struct process_root root;
};

/* Answer @count @questions, PROCESS_ROOTS_AT_ONCE at most, in one call, which is @owner's cost.
 * False: somebody let us wait, and there are no answers. */
bool process_roots_find(struct timed_calls *calls, struct process_root_question *questions,
			size_t count, struct owner owner);

/*
 * A descriptor (O_PATH) of process @pid's root, the caller's to close; -ESTALE when it is not
 * @expected, since the number is another process's by now, or another negative errno. With @pid 0
 * the machine's own root: that of process 1, or of this one where that cannot be seen.
 */
int process_root_open(uint32_t pid, const struct process_root *expected);

/* The machine's own, as above. */
bool process_root_of_host(struct process_root *ret);
