// SPDX-License-Identifier: Apache-2.0
#include "memory_open.h"

#include "proc_thread.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct opening {
	struct timed_call call; /* first */
	uint32_t pid;
	int fd;     /* owned; or -1 */
	int status; /* 0 or a negative errno */
};

static void opening_destroy(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;

	if (opening->fd >= 0)
		close(opening->fd);
	free(opening);
}

static void run_open(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;
	CLEANUP_FD int thread = proc_open_thread(opening->pid);
	char path[32];

	// A main thread that has ended has no memory.
	snprintf(path, sizeof(path), "/proc/%u/mem", opening->pid);
	opening->fd = thread < 0 ? open(path, O_RDONLY | O_CLOEXEC)
				 : openat(thread, "mem", O_RDONLY | O_CLOEXEC);
	if (opening->fd < 0)
		opening->status = -errno;
}

int memory_open(struct timed_calls *calls, uint32_t pid, struct owner owner, uint64_t limit_ns)
{
	struct opening *opening = calloc(1, sizeof(*opening));
	int result;

	if (!opening)
		return -ENOMEM;
	opening->call = (struct timed_call){ .run = run_open,
					     .destroy = opening_destroy,
					     .key = { TIMED_CALL_PROCESS, pid, owner } };
	opening->pid = pid;
	opening->fd = -1;
	if (!timed_calls_make(calls, &opening->call, limit_ns))
		return -ETIMEDOUT;
	result = opening->status ? opening->status : TAKE_FD(opening->fd);
	opening_destroy(&opening->call);
	return result;
}
