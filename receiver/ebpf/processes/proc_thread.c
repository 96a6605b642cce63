// SPDX-License-Identifier: Apache-2.0
#include "proc_thread.h"

#include "proc_text.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STAT_BYTES = 4096, STATUS_BYTES = 16384, THREADS_MOST = 1000 };

static bool has_ended(char state)
{
	return state == 'Z' || state == 'X';
}

int proc_stat_of(int directory, struct proc_stat *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int status = file_read(directory, "stat", STAT_BYTES, &text, &length);

	if (status)
		return status;
	return proc_stat_parse(text, length, ret) ? 0 : -EBADMSG;
}

/* Is the thread whose directory is open as @thread one of @pid's, and does it live? */
static bool is_living(int thread, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_stat stat;
	unsigned int group;
	const char *line;
	size_t length;

	if (proc_stat_of(thread, &stat) || has_ended(stat.state) ||
	    file_read(thread, "status", STATUS_BYTES, &text, &length))
		return false;
	// The name of the thread stands before it, with its newlines escaped.
	line = strstr(text, "\nTgid:");
	return line && sscanf(line, "\nTgid: %u", &group) == 1 && group == pid;
}

static int open_in_proc(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%.40s", name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int find_living(DIR *tasks, uint32_t pid)
{
	const struct dirent *entry;

	for (int i = 0; i < THREADS_MOST && (entry = readdir(tasks)); i++) {
		CLEANUP_FD int thread = -1;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		thread = open_in_proc(entry->d_name);
		if (thread >= 0 && is_living(thread, pid))
			return TAKE_FD(thread);
	}
	return -ESRCH;
}

int proc_open_thread(uint32_t pid)
{
	CLEANUP_FD int process = -1;
	struct proc_stat stat;
	char name[16];
	DIR *tasks;
	int fd, tasks_fd;

	snprintf(name, sizeof(name), "%u", pid);
	process = open_in_proc(name);
	if (process < 0 || proc_stat_of(process, &stat) || !has_ended(stat.state) ||
	    stat.threads <= 1)
		return -ESRCH;
	tasks_fd = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks_fd < 0)
		return -errno;
	tasks = fdopendir(tasks_fd);
	if (!tasks) {
		close(tasks_fd);
		return -ENOMEM;
	}
	fd = find_living(tasks, pid);
	closedir(tasks);
	return fd;
}

static int open_task(uint32_t pid, uint32_t tid)
{
	char name[40];

	snprintf(name, sizeof(name), "%u/task/%u", pid, tid);
	return open_in_proc(name);
}

int proc_thread_number(uint32_t pid, uint32_t tid, uint32_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FD int thread = open_task(pid, tid);
	size_t length;
	int result;

	if (thread < 0)
		return thread;
	result = file_read(thread, "status", STATUS_BYTES, &text, &length);
	// A kernel without PID namespaces has no such line.
	if (!result && !proc_status_last_number(text, "\nNSpid:", ret))
		*ret = tid;
	return result;
}

uint32_t proc_thread_check_now(uint32_t pid, uint32_t tid)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FD int thread = open_task(pid, tid);
	char name[16] = "";
	size_t length;

	// A newline follows the name.
	if (thread < 0 || file_read(thread, "comm", STAT_BYTES, &text, &length) || !length)
		return 0;
	length--;
	memcpy(name, text, length < sizeof(name) - 1 ? length : sizeof(name) - 1);
	return proc_thread_name_check(name);
}

/* Does @path, in the root of @process, lead to the program of that? */
static bool leads_to_program(int process, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_FD int root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int found = -1;
	struct statx program, same;

	if (root < 0 ||
	    statx(process, "exe", AT_STATX_DONT_SYNC, STATX_INO | STATX_NLINK, &program) ||
	    !program.stx_nlink)
		return false;
	found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	return found >= 0 &&
	       !statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &same) &&
	       same.stx_ino == program.stx_ino && same.stx_dev_major == program.stx_dev_major &&
	       same.stx_dev_minor == program.stx_dev_minor;
}

ssize_t proc_executable(int process, char ret[PATH_MAX])
{
	ssize_t length = readlinkat(process, "exe", ret, PATH_MAX - 1);
	size_t unmarked;

	ret[length > 0 ? length : 0] = '\0';
	// A thread of the kernel has none, which the kernel says as ENOENT.
	if (length <= 0)
		return length < 0 && errno != ENOENT ? -errno : 0;
	unmarked = proc_path_length(ret, (size_t)length);
	if (unmarked < (size_t)length && !leads_to_program(process, ret)) {
		ret[unmarked] = '\0';
		length = (ssize_t)unmarked;
	}
	return length;
}
