// SPDX-License-Identifier: Apache-2.0
#include "perf.h"

#include <sys/stat.h>

static const ino_t INITIAL = 0xEFFFFFFCu; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

uint32_t perf_pid_namespace(void)
{
	struct stat own;

	if (stat("/proc/self/ns/pid", &own) || own.st_ino == INITIAL)
		return 0;
	return (uint32_t)own.st_ino;
}
