// SPDX-License-Identifier: Apache-2.0
#include "stack_read.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEDSTAT_BYTES = 128 };

/* Beside a process's number: a page that does not come keeps nobody from looking at the rest. */
static const uint64_t STACK = 1ull << 33;

struct reading {
	struct timed_call call; /* first */
	struct stack_query query;
	ssize_t result;
	uint8_t bytes[STACK_READ_MOST];
};

/* How often the thread was given a CPU, the last of three numbers (Documentation/scheduler/
 * sched-stats.rst). 0 or a negative errno. */
static int read_runs(int thread, uint64_t *ret)
{
	CLEANUP_FD int fd = openat(thread, "schedstat", O_RDONLY | O_CLOEXEC);
	char text[SCHEDSTAT_BYTES];
	unsigned long long runs;
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return length < 0 ? -errno : -ESRCH;
	text[length] = '\0';
	if (sscanf(text, "%*u %*u %llu", &runs) != 1)
		return -EBADMSG;
	*ret = runs;
	return 0;
}

/* What the stack has: how many bytes, or a negative errno. */
static ssize_t read_memory(int thread, struct reading *reading)
{
	CLEANUP_FD int memory = openat(thread, "mem", O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (memory < 0)
		return -errno;
	length = pread(memory, reading->bytes, reading->query.bytes, (off_t)reading->query.address);
	return length < 0 ? -errno : length;
}

/* The stack, and then whether it still was the same. */
static ssize_t read_stack(int thread, struct reading *reading)
{
	const struct stack_query *query = &reading->query;
	ssize_t length = query->bytes ? read_memory(thread, reading) : 0;
	uint64_t runs = 0;
	int status;

	status = read_runs(thread, &runs);
	if (status == -ESRCH || status == -ENOENT || (!status && runs && runs != query->runs))
		return -ESTALE;
	// Without CONFIG_SCHED_INFO it is always 0.
	return !status && runs ? length : -EOPNOTSUPP;
}

static void run_read(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;
	char path[64];
	CLEANUP_FD int thread = -1;

	snprintf(path, sizeof(path), "/proc/%u/task/%u", reading->query.pid, reading->query.tid);
	thread = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	reading->result = thread < 0 ? -ESTALE : read_stack(thread, reading);
}

ssize_t stack_read(struct timed_calls *calls, const struct stack_query *query, struct owner owner,
		   uint64_t limit_ns, void *to)
{
	struct reading *reading = malloc(sizeof(*reading));
	ssize_t result;

	if (!reading)
		return -ENOMEM;
	reading->call =
		(struct timed_call){ .run = run_read,
				     .destroy = timed_call_free,
				     .key = { TIMED_CALL_PROCESS, query->pid | STACK, owner } };
	reading->query = *query;
	if (reading->query.bytes > STACK_READ_MOST)
		reading->query.bytes = STACK_READ_MOST;
	if (!timed_calls_make(calls, &reading->call, limit_ns))
		return -ETIMEDOUT;
	result = reading->result;
	if (result > 0)
		memcpy(to, reading->bytes, (size_t)result);
	free(reading);
	return result;
}
