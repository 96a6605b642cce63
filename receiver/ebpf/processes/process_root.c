// SPDX-License-Identifier: Apache-2.0
#include "process_root.h"

#include "proc_read.h"
#include "proc_thread.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u /* linux/stat.h, since 6.8 */
#endif

enum { FIRST_PROCESS = 1 };

/* Identify the root at @path in @directory by what the kernel has cached, without waiting. */
static bool recall(int directory, const char *path, struct process_root *ret)
{
	struct statx root;

	if (statx(directory, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_INO | STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &root) ||
	    !(root.stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE)))
		return false;
	*ret = (struct process_root){
		.mount = root.stx_mnt_id,
		.device = makedev(root.stx_dev_major, root.stx_dev_minor),
		.inode = root.stx_ino,
	};
	return true;
}

static int open_root(uint32_t pid, struct process_root *ret)
{
	CLEANUP_FD int root = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		CLEANUP_FD int thread = proc_open_thread(pid);

		if (thread < 0)
			return thread;
		root = openat(thread, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (root < 0)
		return -errno;
	return recall(root, "", ret) ? TAKE_FD(root) : -EIO;
}

/* By one call, since this is asked of every program that starts: to open costs twice as much. */
bool process_root_read(uint32_t pid, struct process_root *ret)
{
	char path[32];

	*ret = (struct process_root){ 0 };
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (!recall(AT_FDCWD, path, ret)) {
		CLEANUP_FD int fd = open_root(pid, ret);

		return fd >= 0;
	}
	return true;
}

struct finding {
	struct timed_call call; /* first */
	struct owner owner;
	size_t count;
	struct process_root_question questions[PROCESS_ROOTS_AT_ONCE];
};

/* Have the owner pay for what may let us wait: of a process that has ended, for its ancestors. */
static bool finding_goes_on(struct finding *finding, const struct process_root_question *question)
{
	CLEANUP_FD int process = proc_open(question->pids[0]);

	if (process < 0 && owner_is(finding->owner, OWNER_UNKNOWN))
		return false;
	return proc_basics_go_on(&finding->call, question->pids[0], process, finding->owner);
}

static void answer(struct finding *finding, struct process_root_question *question)
{
	if (!finding_goes_on(finding, question))
		return;
	for (size_t i = 0; i < question->count && !question->found; i++)
		if (process_root_read(question->pids[i], &question->root))
			question->found = question->pids[i];
}

static void run_find(struct timed_call *call)
{
	struct finding *finding = (struct finding *)call;

	for (size_t i = 0; i < finding->count; i++)
		answer(finding, &finding->questions[i]);
}

bool process_roots_find(struct timed_calls *calls, struct process_root_question *questions,
			size_t count, struct owner owner)
{
	struct finding *finding = count ? calloc(1, sizeof(*finding)) : NULL;

	if (!finding)
		return false;
	finding->call =
		(struct timed_call){ .run = run_find,
				     .destroy = timed_call_free,
				     .key = proc_basics_key(questions[0].pids[0], OWNER_SHARED) };
	finding->owner = owner;
	for (; finding->count < count && finding->count < PROCESS_ROOTS_AT_ONCE; finding->count++)
		finding->questions[finding->count] = questions[finding->count];
	if (!timed_calls_make(calls, &finding->call, PROC_LIMIT_NS))
		return false;
	for (size_t i = 0; i < finding->count; i++)
		questions[i] = finding->questions[i];
	free(finding);
	return true;
}

int process_root_open(uint32_t pid, const struct process_root *expected)
{
	struct process_root found;
	CLEANUP_FD int fd = open_root(pid ? pid : FIRST_PROCESS, &found);
	int own;

	if (pid && fd >= 0 && !process_root_equal(&found, expected))
		return -ESTALE;
	if (pid || fd >= 0)
		return TAKE_FD(fd);
	own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

bool process_root_of_host(struct process_root *ret)
{
	return process_root_read(FIRST_PROCESS, ret) || process_root_read((uint32_t)getpid(), ret);
}
