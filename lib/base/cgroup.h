/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of the cgroup that this process is in, and how much of it there may be, by either
 * version of the kernel's interface. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
	int fd;               /* owned: its directory; -1 = neither it nor one above has a limit */
	bool is_second;       /* version 2 */
	uint64_t limit_bytes; /* the least of its own and of those above */
};

/*
 * Look for it as of the directory @process_fd (borrowed), which is as /proc/self; paths in
 * `mountinfo` are taken relative to @root_fd (borrowed). 0, also when there is no limit; or a
 * negative errno.
 */
int cgroup_init(struct cgroup *cgroup, int process_fd, int root_fd);
void cgroup_deinit(struct cgroup *cgroup);

/*
 * Bytes of this cgroup that the kernel cannot take back: neither pages of files nor, in version 2,
 * its caches of them. In version 1 without all that the kernel itself holds, BPF maps too. 0 or a
 * negative errno.
 */
int cgroup_read(const struct cgroup *cgroup, uint64_t *ret);

/* Memory of the machine; @system_fd (borrowed) is a directory as /proc. 0 or a negative errno. */
int cgroup_read_machine(int system_fd, uint64_t *ret);

/*
 * Memory that this process may have at most: its cgroup's limit, or else the machine's. Half a GiB
 * when that cannot be found out. Any thread; reads files.
 */
uint64_t cgroup_memory_bytes(void);
