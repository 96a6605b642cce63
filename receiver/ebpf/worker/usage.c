// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include "base/base.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

bool worker_read_memory(pid_t pid, uint64_t *resident_ret, uint64_t *shared_ret)
{
	uint64_t resident, shared, page = (uint64_t)sysconf(_SC_PAGESIZE);
	char path[64], text[256];
	CLEANUP_FD int fd = -1;
	ssize_t length;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/statm");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	// size resident shared ..., see proc(5)
	if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2)
		return false;
	*resident_ret = resident * page;
	*shared_ret = shared * page;
	return true;
}

void worker_usage_add(pid_t pid, struct worker_use *use)
{
	uint64_t resident, shared;
	struct timespec cpu;
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &cpu))
		use->cpu_ns += (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	if (worker_read_memory(pid, &resident, &shared) && resident > shared)
		use->memory_bytes += resident - shared;
}
