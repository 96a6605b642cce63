/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of files.h have of each other: files.c finds and opens files, files_room.c makes
 * room for others. */
#pragma once

#include "file_rows.h"
#include "files.h"

#include <pthread.h>

struct files {
	pthread_mutex_t lock; /* over `rows` */
	struct timed_calls *calls;
	struct file_rows rows;
	struct process_root host_root; /* all zero: cannot be told */
	uint64_t evict_again_ns;       /* not before: perhaps there is nothing to be had */
	uint64_t let_go_clock;         /* rows.clock when it was last asked what to let go of */
	/* Of files_unheld(): the next number, and rows.clock when it began at 0 last and before
	 * that. */
	uint32_t unheld_next;
	uint64_t unheld_clock, unheld_since;
};
