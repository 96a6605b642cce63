/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose main thread has ended while others go on: /proc/PID shows a zombie without
 * memory, program and root, and /proc/TID of a thread that lives has all of them. What
 * reads a stat waits for an exec of the process (proc_look.h), nothing else does. Any thread.
 */
#pragma once

#include "proc_text.h"

#include "base/base.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* The stat of the process, or thread, whose directory in /proc is open as @directory: 0, or a
 * negative errno. */
int proc_stat_of(int directory, struct proc_stat *ret);

/*
 * /proc/TID of a living thread of process @pid, whose main thread has ended: a descriptor (O_PATH),
 * which stays that thread's when its number is another's. -ESRCH when the main thread lives, none
 * does, or it is not found among the first thousand, or another negative errno.
 */
int proc_open_thread(uint32_t pid);

/*
 * The number of thread @tid of process @pid in the PID namespace that it was made in, to *@ret. 0,
 * or a negative errno: it has ended.
 */
int proc_thread_number(uint32_t pid, uint32_t tid, uint32_t *ret);

/* A word by which to tell the system's name of a thread, padded with zeros, from others; not 0. */
static inline uint32_t proc_thread_name_check(const char name[16])
{
	uint32_t hash = intern_hash_seeded(name, 16, 0);

	return hash ? hash : 1;
}

/* The same of the name that thread @tid of process @pid has now; 0: it has ended. */
uint32_t proc_thread_check_now(uint32_t pid, uint32_t tid);

/*
 * The path of the program whose directory in /proc is open as @process, in @ret, without the
 * kernel's mark of a file that was removed; a file that truly is called so keeps its name. Its
 * length, 0 for a thread of the kernel, or a negative errno. May wait for a file system where the
 * path ends like that mark.
 */
ssize_t proc_executable(int process, char ret[PATH_MAX]);
