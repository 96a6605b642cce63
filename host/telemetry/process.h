/* SPDX-License-Identifier: Apache-2.0 */
/* What this process takes of the machine. Any thread. */
#pragma once

#include <stdint.h>

struct process_figures {
	double cpu_seconds;   /* user and system, of all threads; without child processes */
	int64_t memory_bytes; /* resident; 0 when /proc cannot be read */
};

struct process_figures process_read(void);
