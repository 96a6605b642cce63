/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_look() opens a process of /proc and reads its stat. The stat waits for an exec of the
 * process that is under way, as long as whoever keeps the lock of its memory wants (fs/proc/array.c
 * of Linux 6.18, do_task_stat), and so is read by timed_calls.h. Any thread.
 */
#pragma once

#include "proc_text.h"
#include "timed_calls.h"

#include <limits.h>

struct proc_look {
	int directory;  /* O_PATH, owned; it goes on to mean the same process. Or -1 */
	bool by_thread; /* it is a thread's, since the main thread has ended */
	struct proc_stat stat;
	char executable[PATH_MAX]; /* as of proc_executable(), when asked for */
	int executable_length;     /* of it, or a negative errno */
};

/*
 * Open @pid, which costs @owner; where that is OWNER_UNKNOWN, the user whom its directory in /proc
 * names, unless that is root, whose containers it does not tell apart. 0;
 * -ESRCH when it has ended, or nobody of it runs any more; -ETIMEDOUT when it does not let itself
 * be looked at; another negative errno. @ret is to be closed then, too.
 */
int proc_look(struct timed_calls *calls, uint32_t pid, struct owner owner, bool executable,
	      struct proc_look *ret);
void proc_look_close(struct proc_look *look);
