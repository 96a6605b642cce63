/* SPDX-License-Identifier: Apache-2.0 */
/* A table of processes as the state of a test, and what the kernel tells it. */
#pragma once

#include "processes/learn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { BOOT_OFFSET = 5000, TABLE_BYTES = 1 << 20, TEXT_BYTES = 1 << 20 };

/* One second, the unit of the times below: well above the tolerances. */
static const uint64_t S = 1000000000;

static inline int table_set_up(void **state)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table || !table_init(table, TABLE_BYTES, TEXT_BYTES))
		return -1;
	table->boot_offset_ns = BOOT_OFFSET;
	*state = table;
	return 0;
}

static inline int table_tear_down(void **state)
{
	struct table *table = *state;
	size_t leaked;

	table_forget(table, UINT64_MAX - 1);
	leaked = table->count ? 0 : table->pool.memory;
	table_deinit(table);
	free(table);
	return leaked != 0;
}

static inline void tell_fork(struct table *table, uint64_t time_ns, uint32_t parent, uint32_t pid)
{
	learn_record(table, &(struct record){ .kind = RECORD_FORK,
					      .time_ns = time_ns,
					      .parent = parent,
					      .pid = pid,
					      .tid = pid });
}

static inline void tell_thread(struct table *table, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	learn_record(table, &(struct record){ .kind = RECORD_FORK,
					      .time_ns = time_ns,
					      .parent = pid,
					      .pid = pid,
					      .tid = tid });
}

static inline void tell_exit(struct table *table, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	learn_record(table,
		     &(struct record){
			     .kind = RECORD_EXIT, .time_ns = time_ns, .pid = pid, .tid = tid });
}

static inline void tell_name(struct table *table, enum record_kind kind, uint64_t time_ns,
			     uint32_t pid, const char *name)
{
	learn_record(table, &(struct record){ .kind = kind,
					      .time_ns = time_ns,
					      .pid = pid,
					      .tid = pid,
					      .text = name,
					      .text_length = strlen(name) });
}

static inline void tell_mmap(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t start,
			     uint64_t length, uint64_t inode, const char *path)
{
	learn_record(table, &(struct record){ .kind = RECORD_MMAP,
					      .time_ns = time_ns,
					      .pid = pid,
					      .tid = pid,
					      .start = start,
					      .length = length,
					      .device = makedev(8, 1),
					      .inode = inode,
					      .text = path,
					      .text_length = strlen(path) });
}

/* Whose samples are of @pid, forked at @forked_ns. */
static inline struct process_key key_of(uint32_t pid, uint64_t forked_ns)
{
	return (struct process_key){ .pid = pid, .start_boottime_ns = forked_ns + BOOT_OFFSET };
}
