// SPDX-License-Identifier: Apache-2.0
#include "proc_look.h"

#include "proc_read.h"
#include "proc_thread.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct looking {
	struct timed_call call; /* first */
	uint32_t pid;
	struct owner owner;
	bool executable;
	int status; /* 0 or a negative errno */
	struct proc_look found;
};

void proc_look_close(struct proc_look *look)
{
	if (look->directory >= 0)
		close(look->directory);
	look->directory = -1;
}

static void looking_destroy(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;

	proc_look_close(&looking->found);
	free(looking);
}

/* Look by another thread of @looking's process: its main thread has nothing any more. */
static void go_by_thread(struct looking *looking)
{
	int thread = proc_open_thread(looking->pid);

	if (thread < 0)
		return;
	proc_look_close(&looking->found);
	looking->found.directory = thread;
	looking->found.by_thread = true;
}

static int look(struct looking *looking)
{
	struct proc_look *found = &looking->found;
	int status;

	found->directory = proc_open(looking->pid);
	if (found->directory < 0)
		return found->directory;
	if (!proc_basics_go_on(&looking->call, looking->pid, found->directory, looking->owner))
		return -ETIMEDOUT;
	status = proc_read_stat(found->directory, &found->stat);
	if (status)
		return status;
	if (found->stat.state == 'Z')
		go_by_thread(looking);
	if (looking->executable)
		found->executable_length =
			(int)proc_executable(found->directory, found->executable);
	return 0;
}

static void run_look(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;

	looking->status = look(looking);
}

int proc_look(struct timed_calls *calls, uint32_t pid, struct owner owner, bool executable,
	      struct proc_look *ret)
{
	struct looking *looking = calloc(1, sizeof(*looking));
	int status;

	*ret = (struct proc_look){ .directory = -1 };
	if (!looking)
		return -ENOMEM;
	looking->call = (struct timed_call){
		.run = run_look,
		.destroy = looking_destroy,
		.key = proc_basics_key(pid, OWNER_SHARED),
	};
	looking->pid = pid;
	looking->owner = owner;
	looking->executable = executable;
	looking->found.directory = -1;
	if (!timed_calls_make(calls, &looking->call, PROC_LIMIT_NS))
		return -ETIMEDOUT;
	status = looking->status;
	if (!status) {
		*ret = looking->found;
		looking->found.directory = -1;
	}
	looking_destroy(&looking->call);
	return status;
}
