/* SPDX-License-Identifier: Apache-2.0 */
/* Inside processes.h: the thread is in processes.c, answers from what is known in
 * processes_known.c, files and memory that are opened for others in processes_sources.c. */
#pragma once

#include "processes.h"

#include "watch.h"

#include <pthread.h>

struct processes {
	struct watch watch; /* the table in it is shared under its lock */
	pthread_t thread;
	bool running;

	pthread_mutex_t queue_lock; /* over the notes; never held over anything slow */
	struct note *notes;         /* owned, NOTES_MAX of them */
	struct note *taken;         /* owned, what the thread works on */
	size_t note_count;
	bool woken;  /* for those that wait */
	bool sleeps; /* the thread, for longer than while there are samples */
	struct profcol_metric *notes_dropped;

	pthread_mutex_t progress_lock; /* over what follows */
	pthread_cond_t progress;
	uint64_t known_ns; /* everything noted or told before is taken in */
	bool stopping;
};
