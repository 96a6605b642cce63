// SPDX-License-Identifier: Apache-2.0
#include "watch_ends.h"

#include "base/base.h"

#include <string.h>

/* Whoever maps so fast that records are lost each time is not read each time. */
static const uint64_t SUSPECT_PAUSE_NS = 1000000000, FOLLOW_PAUSE_NS = 10000000000;

static void take_end(void *context, const struct code_end_record *record)
{
	struct watch *watch = context;

	// Without memory it goes when its mappings are read.
	watch->ends_lost |= !VECTOR_PUSH(&watch->ended, *record);
}

static int compare_ends(const void *left, const void *right)
{
	const struct code_end_record *a = left, *b = right;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

void watch_collect_ends(struct watch *watch)
{
	struct code_ends *ends = atomic_load_explicit(&watch->code_ends, memory_order_relaxed);
	uint64_t lost, now = clock_monotonic_ns();

	watch->ended.count = watch->ended_taken = 0;
	if (!ends)
		return;
	lost = code_ends_take(ends, take_end, watch);
	watch->table.lost += lost;
	watch->ends_lost |= lost > 0;
	// What was lost of them goes when the mappings of its process are read.
	if (watch->ends_lost && now >= watch->ends_suspected_ns + SUSPECT_PAUSE_NS) {
		table_suspect_ends(&watch->table, true);
		watch->ends_suspected_ns = now;
		watch->ends_lost = false;
	}
	if (watch->ended.count)
		qsort(watch->ended.items, watch->ended.count, sizeof(*watch->ended.items),
		      compare_ends);
}

static void listen_to_code_ends(struct watch *watch)
{
	struct code_ends *ends;

	watch->code_ends_tried = true;
	if (code_ends_create(&ends))
		return;
	if (side_band_add(watch->side_band, code_ends_fd(ends)))
		code_ends_destroy(ends);
	else
		atomic_store_explicit(&watch->code_ends, ends, memory_order_release);
}

void watch_leave_ends(struct watch *watch)
{
	struct code_ends *ends = atomic_load_explicit(&watch->code_ends, memory_order_relaxed);
	bool more = true;
	uint32_t pid;

	while (more) {
		pthread_mutex_lock(&watch->table_lock);
		more = table_take_left(&watch->table, &pid);
		pthread_mutex_unlock(&watch->table_lock);
		if (more && ends)
			code_ends_leave(ends, pid);
	}
}

/* Nothing tells of the ends of code of @pid after all. */
static void give_up_code_ends(struct watch *watch, uint32_t pid, int status)
{
	struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process)
		table_leave_ends(&watch->table, process);
	pthread_mutex_unlock(&watch->table_lock);
	watch->follow_again_ns = clock_monotonic_ns() + FOLLOW_PAUSE_NS;
	if (!watch->follow_failed)
		profcol_log_warn(
			watch->host->logger,
			"follow what process %u unmaps: %s, its mappings are read instead, "
			"and it is tried again",
			pid, strerror(-status));
	watch->follow_failed = true;
}

void watch_follow_ends(struct watch *watch, uint32_t pid)
{
	struct process *process;
	struct code_ends *ends;
	bool follow;
	int status;

	if (!watch->code_ends_tried)
		listen_to_code_ends(watch);
	ends = atomic_load_explicit(&watch->code_ends, memory_order_relaxed);
	// Without it, its mappings are read when they seem to have doubled.
	if (!ends)
		return;
	// Of an earlier user of the number, before this one is followed.
	watch_leave_ends(watch);
	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	follow = process && process->end_ns == PROCESS_ALIVE &&
		 table_follow_ends(&watch->table, process);
	pthread_mutex_unlock(&watch->table_lock);
	status = follow ? code_ends_follow(ends, pid) : 0;
	if (status)
		give_up_code_ends(watch, pid, status);
}

void watch_follow_again(struct watch *watch)
{
	if (!watch->follow_again_ns || clock_monotonic_ns() < watch->follow_again_ns)
		return;
	watch->follow_again_ns = 0;
	pthread_mutex_lock(&watch->table_lock);
	table_suspect_ends(&watch->table, false);
	pthread_mutex_unlock(&watch->table_lock);
}
