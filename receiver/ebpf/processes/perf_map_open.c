// SPDX-License-Identifier: Apache-2.0
#include "perf_map_open.h"

#include "proc_text.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_BYTES = 4096 };

/* Clocks of file systems lag by a tick, and the two are not read at once. */
static const int64_t CLOCKS_DIFFER_NS = 1000000000;

struct opening {
	struct timed_call call; /* first */
	uint32_t pid;
	uint64_t start_boottime_ns;
	int fd;     /* owned; or -1 */
	int status; /* 0 or a negative errno */
	struct stat stat;
};

static void opening_destroy(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;

	if (opening->fd >= 0)
		close_later(opening->fd, owner_close_payer(call->key.owner));
	free(opening);
}

/* The process's number in its own PID namespace, and its effective user. */
static int read_status(uint32_t pid, uint32_t *number_ret, uint32_t *uid_ret)
{
	char path[32], text[STATUS_BYTES];
	unsigned int real, effective;
	const char *uids;
	CLEANUP_FD int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got < 0)
		return -errno;
	text[got] = '\0';
	uids = strstr(text, "\nUid:");
	if (!uids || sscanf(uids, "\nUid: %u %u", &real, &effective) != 2)
		return -ENOENT;
	*uid_ret = effective;
	// A kernel without PID namespaces has no such line.
	if (!proc_status_last_number(text, "\nNSpid:", number_ret))
		*number_ret = pid;
	return 0;
}

/* Open the perf map by its path alone (O_PATH): anything may be mounted there, and to open it may
 * have effects, or wait. */
static int open_in_root(uint32_t pid, uint32_t number)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_FD int root = -1;
	char path[64];
	long fd;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	snprintf(path, sizeof(path), "tmp/perf-%u.map", number);
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static int64_t nanoseconds(struct timespec time)
{
	// A file system of the owner's own shows any time.
	return (int64_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

/* Was it written since the process started? A file of an earlier one may have its number. */
static bool is_of_its_time(const struct opening *opening)
{
	struct timespec real, boot;
	int64_t started;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	started = nanoseconds(real) - nanoseconds(boot) + (int64_t)opening->start_boottime_ns;
	return nanoseconds(opening->stat.st_mtim) >= started - CLOCKS_DIFFER_NS;
}

static void run_open(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;
	CLEANUP_FD int found = -1;
	uint32_t number, uid;

	opening->status = read_status(opening->pid, &number, &uid);
	if (opening->status)
		return;
	found = open_in_root(opening->pid, number);
	if (found < 0)
		opening->status = found;
	else if (fstat(found, &opening->stat))
		opening->status = -errno;
	else if (!S_ISREG(opening->stat.st_mode) || opening->stat.st_uid != uid ||
		 file_is_of_kernel(found) || !is_of_its_time(opening))
		opening->status = -EPERM;
	if (opening->status)
		return;
	opening->fd = file_reopen(found);
	if (opening->fd < 0)
		opening->status = opening->fd;
}

int perf_map_open(struct timed_calls *calls, const struct perf_map_search *search,
		  uint64_t limit_ns, struct code_map_state *ret)
{
	struct opening *opening = calloc(1, sizeof(*opening));
	int result;

	if (!opening)
		return -ENOMEM;
	opening->call =
		(struct timed_call){ .run = run_open,
				     .destroy = opening_destroy,
				     .key = { TIMED_CALL_PROCESS, search->pid, search->owner } };
	opening->pid = search->pid;
	opening->start_boottime_ns = search->start_boottime_ns;
	opening->fd = -1;
	if (!timed_calls_make(calls, &opening->call, limit_ns))
		return -ETIMEDOUT;
	*ret = (struct code_map_state){
		.bytes = (uint64_t)opening->stat.st_size,
		.modified_ns = nanoseconds(opening->stat.st_mtim),
	};
	result = opening->status ? opening->status : TAKE_FD(opening->fd);
	opening_destroy(&opening->call);
	return result;
}
