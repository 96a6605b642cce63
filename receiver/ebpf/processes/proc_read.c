// SPDX-License-Identifier: Apache-2.0
#include "proc_read.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	/* 65530 mappings (vm.max_map_count) of the usual 100 bytes are 6.5 MB. */
	MAPS_MAX_BYTES = 16 << 20,
	STAT_MAX_BYTES = 4096,
	CGROUP_MAX_BYTES = 64 << 10,
	/* Seven variables for each of a thousand services, as Kubernetes sets them. */
	ENVIRON_MAX_BYTES = 512 << 10,
};

static int open_process(uint32_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? (errno == ENOENT ? -ESRCH : -errno) : fd;
}

static int read_stat(int process, struct proc_stat *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int status = file_read(process, "stat", STAT_MAX_BYTES, &text, &length);

	if (status)
		return status == -ENOENT ? -ESRCH : status;
	return proc_stat_parse(text, length, ret) ? 0 : -EBADMSG;
}

static int read_container(int process, char ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE])
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int status = file_read(process, "cgroup", CGROUP_MAX_BYTES, &text, &length);

	if (status)
		return status == -ENOENT ? -ESRCH : status;
	container_id_parse(text, length, ret);
	pod_uid_parse(text, length, pod_uid_ret);
	return 0;
}

static void read_executable(int process, struct proc_facts *ret)
{
	ssize_t length = readlinkat(process, "exe", ret->executable, sizeof(ret->executable) - 1);

	ret->executable[length > 0 ? length : 0] = '\0';
	// A kernel thread has none, which the kernel says as ENOENT.
	ret->executable_read = length >= 0 || errno == ENOENT;
}

/*
 * Left NULL while there is nothing to read yet: an exec under way has not written its variables.
 * What others may not read, and what is larger than is sane, counts as an empty one.
 */
static int read_environment(int process, const struct profcol_list *variables,
			    struct proc_facts *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;
	int status = file_read(process, "environ", ENVIRON_MAX_BYTES, &text, &length);
	bool kernel_thread = ret->executable_read && !ret->executable[0];

	if (status == -ENOENT || status == -ESRCH || status == -ENOMEM)
		return status == -ENOENT ? -ESRCH : status;
	if (!status && !length && !kernel_thread)
		return 0;
	ret->environment = malloc(sizeof(*ret->environment));
	if (!ret->environment)
		return -ENOMEM;
	environment_parse(text, status ? 0 : length, variables, ret->environment);
	return 0;
}

/* A leader that has ended while its threads go on is a zombie too. */
static bool is_lone_zombie(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

int proc_read(uint32_t pid, unsigned int parts, const struct profcol_list *variables,
	      struct proc_facts *ret)
{
	CLEANUP_FD int process = open_process(pid);
	int status;

	*ret = (struct proc_facts){ .pid = pid, .begin_ns = clock_monotonic_ns() };
	if (process < 0)
		return process;
	status = read_stat(process, &ret->stat);
	if (!status && is_lone_zombie(&ret->stat))
		status = -ESRCH;
	if (status)
		return status;
	status = read_container(process, ret->container_id, ret->pod_uid);
	ret->container_read = !status;
	// A leader that ended before its threads shows none of what the others still have.
	if (ret->stat.state == 'Z')
		return 0;
	read_executable(process, ret);
	if ((parts & PROC_ENVIRONMENT) && status != -ESRCH)
		status = read_environment(process, variables, ret);
	if ((parts & PROC_MAPS) && status != -ESRCH && status != -ENOMEM)
		status = file_read(process, "maps", MAPS_MAX_BYTES, &ret->maps, &ret->maps_length);
	// All that is not ours to read stays empty; only an end in the middle spoils it all.
	if (status != -ESRCH && status != -ENOMEM)
		return 0;
	proc_facts_deinit(ret);
	return status;
}

void proc_facts_deinit(struct proc_facts *facts)
{
	free(TAKE(facts->maps));
	free(TAKE(facts->environment));
}

int proc_read_container(uint32_t pid, char ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE])
{
	CLEANUP_FD int process = open_process(pid);

	ret[0] = pod_uid_ret[0] = '\0';
	return process < 0 ? process : read_container(process, ret, pod_uid_ret);
}

int proc_walk(int (*visit)(void *context, uint32_t pid), void *context)
{
	CLEANUP_DIRECTORY DIR *directory = opendir("/proc");
	struct dirent *entry;
	int status = 0;

	if (!directory)
		return -errno;
	while (!status && (entry = readdir(directory))) {
		unsigned long pid;
		char *end;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		pid = strtoul(entry->d_name, &end, 10);
		if (!*end && pid <= INT32_MAX)
			status = visit(context, (uint32_t)pid);
	}
	return status;
}

bool proc_is_alive(uint32_t pid)
{
	CLEANUP_FD int process = open_process(pid);
	struct proc_stat stat;

	return process >= 0 && !read_stat(process, &stat) && !is_lone_zombie(&stat);
}
