// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include "cleanup.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Until there is something to read from @fd, or its end. 0 or a negative errno. */
static int wait_readable(int fd, uint64_t deadline_ns)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now = clock_monotonic_ns();
		int count;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		count = poll(&waited, 1, (int)((deadline_ns - now) / 1000000) + 1);
		if (count > 0)
			return 0;
		if (count < 0 && errno != EINTR)
			return -errno;
	}
}

int file_read_until(int directory_fd, const char *path, size_t max_bytes, uint64_t deadline_ns,
		    char **ret, size_t *length_ret)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FD int fd = -1;
	size_t length = 0, capacity = 0;
	struct stat status;
	int result;

	// Without O_NONBLOCK the open itself would wait for somebody who writes to a pipe.
	fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	for (;;) {
		ssize_t got;

		if (length + 1 >= capacity) {
			char *grown;

			capacity = capacity ? capacity * 2 : 4096;
			grown = realloc(text, capacity);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		result = S_ISREG(status.st_mode) ? 0 : wait_readable(fd, deadline_ns);
		if (result < 0)
			return result;
		got = read(fd, text + length, capacity - length - 1);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		length += (size_t)got;
		if (length > max_bytes)
			return -EFBIG;
	}
	text[length] = '\0';
	if (length_ret)
		*length_ret = length;
	*ret = TAKE(text);
	return 0;
}

int file_read(int directory_fd, const char *path, size_t max_bytes, char **ret, size_t *length_ret)
{
	uint64_t deadline_ns = clock_monotonic_ns() + FILE_READ_SECONDS * UINT64_C(1000000000);

	return file_read_until(directory_fd, path, max_bytes, deadline_ns, ret, length_ret);
}

int file_write_all(int fd, struct iovec *parts, size_t count, size_t *written_ret)
{
	*written_ret = 0;
	for (;;) {
		ssize_t written;

		for (; count && !parts->iov_len; parts++)
			count--;
		if (!count)
			return 0;
		written = writev(fd, parts, (int)count);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		*written_ret += (size_t)written;
		for (; count && (size_t)written >= parts->iov_len; parts++, count--)
			written -= (ssize_t)parts->iov_len;
		if (count) {
			parts->iov_base = (char *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
}

int file_reopen(int path_fd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

bool file_is_of_kernel(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return false;
	switch ((unsigned long)system.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
		return true;
	default:
		return false;
	}
}
