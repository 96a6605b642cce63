// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_memory_bytes(void)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long resident;
	size_t length;

	// See proc(5): size, then resident, in pages.
	if (file_read(AT_FDCWD, "/proc/self/statm", 4096, &text, &length) ||
	    sscanf(text, "%*u %llu", &resident) != 1)
		return 0;
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

struct process_figures process_read(void)
{
	struct timespec cpu = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct process_figures){
		.cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
		.memory_bytes = read_memory_bytes(),
	};
}
