/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Wait until the clock of file systems can tell that the file @path was there, as it is, before. */
static inline void await_file_tick(const char *path)
{
	enum { TICKS_NS = 30000000 };
	struct timespec now;
	struct stat status;

	if (stat(path, &status))
		_exit(6);
	do {
		usleep(1000);
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while ((now.tv_sec - status.st_ctim.tv_sec) * 1000000000 + now.tv_nsec -
			 status.st_ctim.tv_nsec <
		 TICKS_NS);
}
