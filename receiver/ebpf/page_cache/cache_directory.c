// SPDX-License-Identifier: Apache-2.0
#include "cache_directory.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in use has its time renewed, but only so often: each is a write. */
static const int64_t touch_interval_s = 3600;

static struct profcol_error *cannot_use(const char *path, int errnum)
{
	const char *remedy = "choose another one as 'cache_directory', or leave it out";

	if (errnum == ENOENT)
		remedy = "create the directory above it";
	else if (errnum == EACCES || errnum == EPERM)
		remedy = "let the user that profcol runs as write there";
	return profcol_error_create(PROFCOL_SYSTEM, "cannot use cache_directory '%s': %s; %s", path,
				    strerrordesc_np(errnum), remedy);
}

static struct profcol_error *check_owner(const char *path, const struct stat *stat)
{
	if (stat->st_uid != geteuid())
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot use cache_directory '%s': it belongs to user "
					    "%u; chown it to user %u",
					    path, stat->st_uid, geteuid());
	if (stat->st_mode & (S_IWGRP | S_IWOTH))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot use cache_directory '%s': others may write to "
					    "it (mode %03o); chmod it to 700",
					    path, stat->st_mode & 0777);
	return NULL;
}

static int make_temporary(int directory_fd, char name[CACHE_ENTRY_NAME_BYTES])
{
	uint64_t number;
	int fd;

	// Two processes may have one number, in containers of their own.
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = clock_monotonic_ns() ^ (uint64_t)getpid() << 40;
	snprintf(name, CACHE_ENTRY_NAME_BYTES, CACHE_TEMPORARY_PREFIX "%016llx",
		 (unsigned long long)number);
	fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/* Permissions do not tell of a file system that is mounted for reading only. */
static struct profcol_error *check_writing(const char *path, int directory_fd)
{
	char name[CACHE_ENTRY_NAME_BYTES];
	CLEANUP_FD int fd = make_temporary(directory_fd, name);

	if (fd >= 0)
		unlinkat(directory_fd, name, 0);
	// What is full now may have room later, and can be read.
	else if (fd != -ENOSPC && fd != -EDQUOT)
		return cannot_use(path, -fd);
	return NULL;
}

struct profcol_error *cache_directory_open(struct cache_directory *directory)
{
	const char *path = directory->path;
	struct trusted_output output = { .path = path, .create = true, .mode = 0700 };
	CLEANUP_FD int fd = -1;
	int errnum = 0;
	struct profcol_error *error = trusted_output_open(&output, &errnum, &fd);
	struct stat stat;

	if (error && !errnum)
		return profcol_error_prefix(error, "cannot use cache_directory '%s'", path);
	profcol_error_destroy(error);
	if (errnum)
		return cannot_use(path, errnum);
	if (fstat(fd, &stat))
		return cannot_use(path, errno);
	error = check_owner(path, &stat);
	if (!error)
		error = check_writing(path, fd);
	if (!error)
		directory->fd = TAKE_FD(fd);
	return error;
}

void cache_directory_close(struct cache_directory *directory)
{
	cleanup_fd(&directory->fd);
	directory->fd = -1;
}

static bool is_acceptable(const struct stat *stat)
{
	return S_ISREG(stat->st_mode) && stat->st_uid == geteuid() &&
	       !(stat->st_mode & (S_IWGRP | S_IWOTH)) &&
	       stat->st_size >= (off_t)sizeof(struct cache_entry_head) &&
	       stat->st_size <= CACHE_ENTRY_MAX_BYTES;
}

static int read_all(int fd, char *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t got = pread(fd, to + done, bytes - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EINVAL;
		done += (size_t)got;
	}
	return 0;
}

/* What is used last goes last: by its time of modification. */
static void touch(int fd, const struct stat *stat)
{
	int64_t now_s = (int64_t)(clock_realtime_ns() / 1000000000);

	if (now_s - stat->st_mtim.tv_sec >= touch_interval_s || stat->st_mtim.tv_sec > now_s)
		futimens(fd, NULL);
}

int cache_directory_read(const struct cache_directory *directory, const char *name, void **ret,
			 size_t *bytes_ret)
{
	// A pipe without a writer would be waited for.
	CLEANUP_FD int fd =
		openat(directory->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP_FREE void *bytes = NULL;
	struct stat stat;
	int status;

	if (fd < 0) // a symbolic link, a socket
		return errno == ELOOP || errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &stat) || !is_acceptable(&stat))
		return -EINVAL;
	bytes = malloc((size_t)stat.st_size);
	if (!bytes)
		return -ENOMEM;
	status = read_all(fd, bytes, (size_t)stat.st_size);
	if (status)
		return status;
	touch(fd, &stat);
	*ret = TAKE(bytes);
	*bytes_ret = (size_t)stat.st_size;
	return 0;
}

int cache_directory_write(const struct cache_directory *directory, const char *name,
			  const struct cache_entry_head *head, const uint64_t *asked,
			  const void *body, uint64_t *disk_bytes_ret)
{
	struct iovec parts[] = {
		{ (void *)(uintptr_t)head, sizeof(*head) },
		{ (void *)(uintptr_t)asked, head->asked_count * sizeof(*asked) },
		{ (void *)(uintptr_t)body, head->body_bytes },
	};
	char temporary[CACHE_ENTRY_NAME_BYTES];
	CLEANUP_FD int fd = make_temporary(directory->fd, temporary);
	struct stat stat = { 0 };
	size_t written;
	int status;

	if (fd < 0)
		return fd;
	// Without fsync: what a crash leaves of it fails its checksum.
	status = file_write_all(fd, parts, sizeof(parts) / sizeof(parts[0]), &written);
	if (!status && renameat(directory->fd, temporary, directory->fd, name))
		status = -errno;
	if (status)
		unlinkat(directory->fd, temporary, 0);
	else if (!fstat(fd, &stat))
		*disk_bytes_ret = (uint64_t)stat.st_blocks * 512;
	return status;
}

bool cache_directory_remove(const struct cache_directory *directory, const char *name)
{
	return !unlinkat(directory->fd, name, 0) || !unlinkat(directory->fd, name, AT_REMOVEDIR);
}
