/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says of one process, read without any lock held.
 *
 * All reads go through one descriptor of /proc/PID, which keeps meaning the same
 * process even when its number is used anew. Any thread.
 */
#pragma once

#include "container.h"
#include "environment.h"
#include "proc_text.h"

#include <limits.h>

/* What costs more than the rest and is read only when asked for. */
enum proc_part { PROC_MAPS = 1 << 0, PROC_ENVIRONMENT = 1 << 1 };

struct proc_facts {
	uint32_t pid;
	uint64_t begin_ns; /* CLOCK_MONOTONIC before the first read */
	struct proc_stat stat;
	char executable[PATH_MAX]; /* "" for a kernel thread */
	bool executable_read;
	char container_id[CONTAINER_ID_SIZE];
	char pod_uid[POD_UID_SIZE];
	bool container_read;
	char *maps; /* owned; NULL when not asked for or not to be had */
	size_t maps_length;
	struct environment_attributes *environment; /* owned; NULL as maps */
};

/*
 * Read @pid into @ret, with @parts (enum proc_part); @variables as for
 * environment_parse. 0, -ESRCH when it is gone (or a zombie, which has nothing to
 * read any more), or another negative errno. What only its own permissions hide is
 * left empty.
 */
int proc_read(uint32_t pid, unsigned int parts, const struct profcol_list *variables,
	      struct proc_facts *ret);
void proc_facts_deinit(struct proc_facts *facts);

/* As above, the container id alone. */
int proc_read_container(uint32_t pid, char ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE]);

/*
 * Call @visit with the number of every process there is. A negative errno of
 * reading /proc, or what @visit returned if not 0, which ends the walk.
 */
int proc_walk(int (*visit)(void *context, uint32_t pid), void *context);

/* Is there a process @pid that still runs? (A zombie does not.) */
bool proc_is_alive(uint32_t pid);
