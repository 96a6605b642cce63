// SPDX-License-Identifier: Apache-2.0
#include "cgroup.h"

#include "cleanup.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX_BYTES = 1 << 20, /* of mountinfo, on a machine with many containers */
	KIB = 1024,
	MEMORY_UNKNOWN_BYTES = 512 << 20,
};

/* Version 1 says so instead of "max": the largest number of pages. */
#define UNLIMITED_BYTES (UINT64_C(1) << 62)

/* Where the hierarchy is mounted, and what of it. */
struct mount {
	char root[PATH_MAX]; /* path inside of the hierarchy */
	char point[PATH_MAX];
};

/* ---- text of /proc ---- */

/* The next line of *@at, without its end, which is cut off; NULL after the last. */
static char *next_line(char **at)
{
	char *line = *at;

	if (!line || !*line)
		return NULL;
	*at = strchr(line, '\n');
	if (*at)
		*(*at)++ = '\0';
	return line;
}

/* Is @word one of those in @list, which has commas between them? */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

/*
 * The path of this process in the hierarchy with the controller `memory`: version 1 if it is
 * mounted as such, else 2. See cgroups(7): "4:memory:/path", "0::/path".
 */
static int read_path(int process_fd, bool *is_second_ret, char **ret)
{
	CLEANUP_FREE char *text = NULL;
	const char *found = NULL;
	char *at, *line;
	int status = file_read(process_fd, "cgroup", TEXT_MAX_BYTES, &text, NULL);

	if (status)
		return status;
	for (at = text; (line = next_line(&at));) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (has_word(list + 1, "memory")) {
			*is_second_ret = false;
			found = path;
			break;
		}
		if (!list[1]) {
			*is_second_ret = true;
			found = path;
		}
	}
	if (!found)
		return -ENOENT;
	*ret = strdup(found);
	return *ret ? 0 : -ENOMEM;
}

/* See proc(5): "36 35 98:0 /root /point options ... - type source superoptions". */
static bool parse_mount(char *line, bool is_second, struct mount *mount)
{
	char *tail = strstr(line, " - "), type[16], options[512];

	if (!tail || sscanf(line, "%*u %*u %*s %4095s %4095s", mount->root, mount->point) != 2 ||
	    sscanf(tail, " - %15s %*s %511s", type, options) != 2)
		return false;
	if (is_second)
		return !strcmp(type, "cgroup2");
	return !strcmp(type, "cgroup") && has_word(options, "memory");
}

static int read_mount(int process_fd, bool is_second, struct mount *mount)
{
	CLEANUP_FREE char *text = NULL;
	char *at, *line;
	int status = file_read(process_fd, "mountinfo", TEXT_MAX_BYTES, &text, NULL);

	if (status)
		return status;
	for (at = text; (line = next_line(&at));)
		if (parse_mount(line, is_second, mount))
			return 0;
	return -ENOENT;
}

/* ---- limits ---- */

static int read_number(int fd, const char *file, uint64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	char *end;
	int status = file_read(fd, file, KIB, &text, NULL);

	if (status)
		return status;
	if (!strncmp(text, "max", 3)) {
		*ret = UINT64_MAX;
		return 0;
	}
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno || end == text ? -EPROTO : 0;
}

/* It is missing where the controller is not passed on: the next one above has the figure then. */
static const char *usage_file(const struct cgroup *cgroup)
{
	return cgroup->is_second ? "memory.current" : "memory.usage_in_bytes";
}

/*
 * The limit of @path, if it is the least so far. What counts against it is the usage of the first
 * directory that has one: those above count the neighbours, too.
 */
static void cgroup_consider(struct cgroup *cgroup, int root_fd, const char *path)
{
	CLEANUP_FD int fd = openat(root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t limit, used;

	if (fd < 0)
		return;
	if (!read_number(fd, cgroup->is_second ? "memory.max" : "memory.limit_in_bytes", &limit) &&
	    limit < cgroup->limit_bytes)
		cgroup->limit_bytes = limit;
	if (cgroup->fd < 0 && !read_number(fd, usage_file(cgroup), &used))
		cgroup->fd = TAKE_FD(fd);
}

/* What of @path lies below the mount: the whole hierarchy need not be mounted. */
static const char *path_below(const struct mount *mount, const char *path)
{
	size_t length = strlen(mount->root);

	// In a namespace of its own the path may lead out of it: then the mount is all we see.
	if (!strncmp(path, "/..", 3))
		return "";
	if (!strcmp(mount->root, "/"))
		return path;
	return !strncmp(path, mount->root, length) && (!path[length] || path[length] == '/')
		       ? path + length
		       : "";
}

/* From @path, which is cut off piece by piece, up to where it has less than @least bytes. */
static void cgroup_climb(struct cgroup *cgroup, int root_fd, char *path, size_t least)
{
	for (;;) {
		char *slash;

		cgroup_consider(cgroup, root_fd, path);
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < least)
			return;
		*slash = '\0';
	}
}

int cgroup_init(struct cgroup *cgroup, int process_fd, int root_fd)
{
	CLEANUP_FREE char *path = NULL, *full = NULL;
	struct mount mount;
	int status;

	*cgroup = (struct cgroup){ .fd = -1, .limit_bytes = UNLIMITED_BYTES };
	status = read_path(process_fd, &cgroup->is_second, &path);
	if (!status)
		status = read_mount(process_fd, cgroup->is_second, &mount);
	// A kernel without cgroups, or where none is mounted: there is no limit to be seen.
	if (status == -ENOENT)
		return 0;
	if (status)
		return status;
	if (asprintf(&full, ".%s%s", mount.point, path_below(&mount, path)) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	// A limit of one above holds for those below, up to where it is mounted.
	cgroup_climb(cgroup, root_fd, full, strlen(mount.point) + 1);
	if (cgroup->limit_bytes == UNLIMITED_BYTES) {
		cleanup_fd(&cgroup->fd);
		cgroup->fd = -1;
	}
	return 0;
}

void cgroup_deinit(struct cgroup *cgroup)
{
	cleanup_fd(&cgroup->fd);
}

/* A line "@key NUMBER" of memory.stat; false when it is missing. */
static bool find_stat(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	*ret = 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) || line[length] != ' ')
			continue;
		*ret = strtoull(line + length + 1, NULL, 10);
		return true;
	}
	return false;
}

static uint64_t less(uint64_t number, uint64_t by)
{
	return number > by ? number - by : 0;
}

static int read_second(const struct cgroup *cgroup, const char *text, uint64_t *ret)
{
	uint64_t used, cached, shared, slab;
	int status = read_number(cgroup->fd, usage_file(cgroup), &used);

	if (status)
		return status;
	find_stat(text, "file", &cached);
	// Among it is what lies in memory only, which nobody can take back.
	find_stat(text, "shmem", &shared);
	find_stat(text, "slab_reclaimable", &slab);
	*ret = less(less(used, less(cached, shared)), slab);
	return 0;
}

/* Its usage has caches of the kernel that memory.stat does not tell apart. */
static int read_first(const char *text, uint64_t *ret)
{
	uint64_t resident, shared;

	if (!find_stat(text, "total_rss", &resident))
		return -EPROTO;
	find_stat(text, "total_shmem", &shared);
	*ret = resident + shared;
	return 0;
}

int cgroup_read(const struct cgroup *cgroup, uint64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	int status = file_read(cgroup->fd, "memory.stat", TEXT_MAX_BYTES, &text, NULL);

	if (status)
		return status;
	return cgroup->is_second ? read_second(cgroup, text, ret) : read_first(text, ret);
}

int cgroup_read_machine(int system_fd, uint64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long kib;
	const char *line;
	int status = file_read(system_fd, "meminfo", TEXT_MAX_BYTES, &text, NULL);

	if (status)
		return status;
	line = strstr(text, "MemTotal:");
	if (!line || sscanf(line, "MemTotal: %llu", &kib) != 1)
		return -EPROTO;
	*ret = kib * KIB;
	return 0;
}

uint64_t cgroup_memory_bytes(void)
{
	CLEANUP_FD int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int system_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int process_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t bytes = MEMORY_UNKNOWN_BYTES, machine;
	struct cgroup cgroup;

	if (root_fd < 0 || system_fd < 0 || process_fd < 0)
		return bytes;
	if (!cgroup_read_machine(system_fd, &machine))
		bytes = machine;
	if (!cgroup_init(&cgroup, process_fd, root_fd)) {
		if (cgroup.limit_bytes < bytes)
			bytes = cgroup.limit_bytes;
		cgroup_deinit(&cgroup);
	}
	return bytes;
}
