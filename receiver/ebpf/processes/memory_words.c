// SPDX-License-Identifier: Apache-2.0
#include "memory_words.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct reading {
	struct timed_call call; /* first */
	uint32_t pid;
	size_t count;
	uint64_t addresses[MEMORY_WORDS_MOST];
	uint64_t words[MEMORY_WORDS_MOST];
	int status; /* 0 or a negative errno */
};

static void reading_destroy(struct timed_call *call)
{
	free(call);
}

/* process_vm_readv() would do it in one call, but has another permission in the filters of
 * containers than /proc, which is needed anyway. */
static void run_read(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;
	CLEANUP_FD int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", reading->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	reading->status = fd < 0 ? -errno : 0;
	for (size_t i = 0; !reading->status && i < reading->count; i++) {
		ssize_t got = pread(fd, &reading->words[i], sizeof(reading->words[i]),
				    (off_t)reading->addresses[i]);

		if (got != sizeof(reading->words[i]))
			reading->status = got < 0 ? -errno : -EFAULT;
	}
}

int memory_words_read(struct timed_calls *calls, uint32_t pid, const uint64_t *addresses,
		      size_t count, uint64_t limit_ns, uint64_t *ret)
{
	struct reading *reading;
	int status;

	if (count > MEMORY_WORDS_MOST)
		return -EINVAL;
	reading = calloc(1, sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->call =
		(struct timed_call){ .run = run_read, .destroy = reading_destroy, .key = pid };
	reading->pid = pid;
	reading->count = count;
	memcpy(reading->addresses, addresses, count * sizeof(*addresses));
	if (!timed_calls_make(calls, &reading->call, limit_ns))
		return -ETIMEDOUT;
	status = reading->status;
	memcpy(ret, reading->words, count * sizeof(*ret));
	free(reading);
	return status;
}
