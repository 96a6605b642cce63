// SPDX-License-Identifier: Apache-2.0
#include "watch_owners.h"

#include "proc_read.h"

/* A hundredth of a second, at 50 us each; the rest has its turn in the next pass. */
enum { OWNERS_AT_ONCE = 200 };

/* One that was marked, and whose it is as far as is known; 0: there is none. */
static uint32_t take_one(struct watch *watch, uint64_t *begin_ns_ret, struct owner *owner_ret)
{
	struct process *process;
	uint32_t pid = 0;

	pthread_mutex_lock(&watch->table_lock);
	process = table_take_unowned(&watch->table);
	if (process) {
		pid = process->pid;
		*begin_ns_ret = process->begin_ns;
		*owner_ret = process->owner;
	}
	pthread_mutex_unlock(&watch->table_lock);
	return pid;
}

static void read_one(struct watch *watch, uint32_t pid, uint64_t begin_ns, struct owner owner)
{
	struct timed_calls *calls = files_calls(watch->files);
	struct process *process;
	struct proc_owner found;

	if (proc_read_owner(calls, pid, owner, &found))
		return;
	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process && process->begin_ns == begin_ns) {
		process->owner.uid = found.uid;
		process->owner_read = true;
		if (found.container_read)
			table_set_container(&watch->table, process, found.container_id,
					    found.pod_uid);
	}
	pthread_mutex_unlock(&watch->table_lock);
}

void watch_read_owners(struct watch *watch)
{
	struct owner owner;
	uint64_t begin_ns;
	uint32_t pid;

	for (int i = 0; i < OWNERS_AT_ONCE && (pid = take_one(watch, &begin_ns, &owner)); i++) {
		uint64_t began_ns = clock_monotonic_ns();

		// Its next fork marks it again.
		if (!read_time_admit(&watch->read_time, owner, began_ns))
			continue;
		read_one(watch, pid, begin_ns, owner);
		read_time_spend(&watch->read_time, owner, clock_monotonic_ns() - began_ns);
	}
}
