// SPDX-License-Identifier: Apache-2.0
#include "root_files.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

/* In the keys of calls: other calls that look up paths go on when these wait, and the other way. */
static const uint64_t ROOT_KEY = 3ull << 62;

struct looking {
	struct timed_call call; /* first */
	uint32_t pid;
	struct process_root root;
	char *paths[ROOT_FILES_PATHS]; /* owned */
	size_t count, next;
	int fd; /* owned; or a negative errno */
};

static void looking_destroy(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;

	if (looking->fd >= 0)
		close(looking->fd);
	for (size_t i = 0; i < looking->count; i++)
		free(looking->paths[i]);
	free(looking);
}

/* @path below @root, if it is a regular file. To open anything else can have effects, or wait. */
static int open_regular(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_FD int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat stat;

	if (found < 0 || fstat(found, &stat))
		return -errno;
	return S_ISREG(stat.st_mode) && !file_is_of_kernel(found) ? file_reopen(found) : -EINVAL;
}

static void run_look(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;
	CLEANUP_FD int root = process_root_open(looking->pid, &looking->root);

	looking->fd = root < 0 ? root : -ENOENT;
	while (root >= 0 && looking->fd < 0 && looking->next < looking->count)
		looking->fd = open_regular(root, looking->paths[looking->next++]);
}

static bool looking_take_paths(struct looking *looking, const struct root_files_search *search)
{
	for (size_t i = 0; i < search->count && i < ROOT_FILES_PATHS; i++) {
		looking->paths[i] = strdup(search->paths[i]);
		if (!looking->paths[i])
			return false;
		looking->count++;
	}
	return true;
}

int root_files_open(struct timed_calls *calls, const struct root_files_search *search, size_t *next,
		    uint64_t limit_ns)
{
	struct looking *looking = calloc(1, sizeof(*looking));
	int fd;

	if (!looking)
		return -ENOMEM;
	looking->call = (struct timed_call){
		.run = run_look,
		.destroy = looking_destroy,
		// Whoever can make one root or place wait holds up that one only.
		.key = { TIMED_CALL_FILE_SYSTEM,
			 ROOT_KEY | (search->pid ? search->root.mount ^ search->root.inode << 20 ^
							   search->root.device << 40
						 : search->place),
			 search->owner },
	};
	looking->fd = -1;
	looking->pid = search->pid;
	looking->root = search->root;
	looking->next = *next;
	if (!looking_take_paths(looking, search)) {
		looking_destroy(&looking->call);
		return -ENOMEM;
	}
	if (!timed_calls_make(calls, &looking->call, limit_ns))
		return -ETIMEDOUT;
	*next = looking->next;
	fd = looking->fd;
	if (fd >= 0)
		looking->fd = -1;
	looking_destroy(&looking->call);
	return fd;
}
