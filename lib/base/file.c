// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int file_read(int directory_fd, const char *path, size_t max_bytes, char **ret, size_t *length_ret)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FD int fd = -1;
	size_t length = 0, capacity = 0;

	fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
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
		got = read(fd, text + length, capacity - length - 1);
		if (got < 0 && errno == EINTR)
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
