// SPDX-License-Identifier: Apache-2.0
#include "cgroup.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX_BYTES = 1 << 20, /* of mountinfo, on a machine with many containers */
	KIB = 1024,
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

/* Keep the directory when its limit is the least so far. */
static void cgroup_consider(struct cgroup *cgroup, int root_fd, const char *path)
{
	CLEANUP_FD int fd = openat(root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t limit;

	if (fd < 0 ||
	    read_number(fd, cgroup->is_second ? "memory.max" : "memory.limit_in_bytes", &limit) ||
	    limit >= UNLIMITED_BYTES || (cgroup->fd >= 0 && limit >= cgroup->limit_bytes))
		return;
	cleanup_fd(&cgroup->fd);
	cgroup->fd = TAKE_FD(fd);
	cgroup->limit_bytes = limit;
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

int cgroup_init(struct cgroup *cgroup, int process_fd, int root_fd)
{
	CLEANUP_FREE char *path = NULL, *full = NULL;
	struct mount mount;
	int status;

	*cgroup = (struct cgroup){ .fd = -1 };
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
	for (size_t least = strlen(mount.point) + 1;;) {
		char *slash;

		cgroup_consider(cgroup, root_fd, full);
		slash = strrchr(full, '/');
		if (!slash || (size_t)(slash - full) < least)
			return 0;
		*slash = '\0';
	}
}

void cgroup_deinit(struct cgroup *cgroup)
{
	cleanup_fd(&cgroup->fd);
}

/* A line "@key NUMBER" of memory.stat; 0 when it is missing. */
static uint64_t stat_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
	}
	return 0;
}

int cgroup_read(const struct cgroup *cgroup, uint64_t *ret)
{
	const char *file = cgroup->is_second ? "memory.current" : "memory.usage_in_bytes";
	CLEANUP_FREE char *text = NULL;
	uint64_t used, cached, shared;
	int status = read_number(cgroup->fd, file, &used);

	if (!status)
		status = file_read(cgroup->fd, "memory.stat", TEXT_MAX_BYTES, &text, NULL);
	if (status)
		return status;
	cached = stat_of(text, cgroup->is_second ? "file" : "total_cache");
	// Both count what lies in memory only, which nobody can take back.
	shared = stat_of(text, cgroup->is_second ? "shmem" : "total_shmem");
	cached -= shared < cached ? shared : cached;
	*ret = used > cached ? used - cached : 0;
	return 0;
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
