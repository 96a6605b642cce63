/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, opens and reads files of other processes, which may lie on a file system whose server does
 * not answer any more: whatever may wait for one is done by timed_calls.h.
 *
 * What is kept of a file is a descriptor by which it can be opened (O_PATH): unlike one for reading
 * it can be closed without asking the server, by whoever ends, too.
 *
 * Limits in nanoseconds; -ETIMEDOUT when one has passed, or when an earlier call of the same owner
 * for the same device still waits. A path can lead through other file systems than the one that the
 * file lies on: one that is looked up in vain blocks nothing but other paths. A mapping of a
 * process that holds the lock of its memory blocks nothing but that process. Any thread.
 */
#pragma once

#include "htlhash.h"
#include "mapped_file.h"
#include "process_root.h"
#include "timed_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where to look for a file whose process may have gone: @roots are living processes
 * that probably share its mount namespace. */
struct file_search {
	struct mapped_file mapped;
	const uint32_t *roots;
	size_t root_count;
	/* The root of a process that maps it, or else of the one that probably had the same, and
	 * that process; all zero: not known. */
	struct process_root root;
	uint32_t root_pid;
};

/* An O_PATH descriptor of what @search finds, and what it is; negative errno as of mapped_file.h.
 * *@by_mapping_ret: by the mapping itself, which has pinned it ever since. */
int opener_find(struct timed_calls *calls, const struct file_search *search, uint64_t limit_ns,
		struct file_look *look_ret, bool *by_mapping_ret);

/* What is read of a file when it is met. */
struct file_ends {
	bool hashed; /* what follows is known */
	bool elf;    /* it begins as an ELF file does */
	uint8_t htlhash[HTLHASH_BYTES];
};

/* Where a file lies, and whom it costs when its file system does not answer. */
struct file_place {
	uint64_t device;
	struct owner owner;
	uint64_t payer; /* for closing what is opened: close_later.h */
};

/* Read the file of @path_fd, which has @size bytes. 0 also when it ended before; then it has no
 * hash. */
int opener_read(struct timed_calls *calls, struct file_place place, int path_fd, uint64_t size,
		uint64_t limit_ns, struct file_ends *ret);

/* A descriptor for reading the file of @path_fd, with a position of its own; negative errno.
 * -EAGAIN while files of the same payer do not let themselves be closed. */
int opener_open(struct timed_calls *calls, struct file_place place, int path_fd, uint64_t limit_ns);

/* What the kernel remembers of a file; of one on the network, as of when it was last asked for.
 * Of any descriptor; without times of access, and sizes but the length. Never waits. 0 or a
 * negative errno. */
int opener_recall(int fd, struct stat *stat_ret);
