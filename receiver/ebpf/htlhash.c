// SPDX-License-Identifier: Apache-2.0
#include "htlhash.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <sys/types.h>
#include <unistd.h>

enum { EDGE_BYTES = 4096 };

static size_t edge_of(uint64_t size)
{
	return size < EDGE_BYTES ? (size_t)size : EDGE_BYTES;
}

static void hash(const void *head, const void *tail, uint64_t size, uint8_t ret[HTLHASH_BYTES])
{
	struct sha256_ctx sha256;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(size >> (56 - 8 * i));
	sha256_init(&sha256);
	sha256_update(&sha256, edge_of(size), head);
	sha256_update(&sha256, edge_of(size), tail);
	sha256_update(&sha256, sizeof(length), length);
	sha256_digest(&sha256, HTLHASH_BYTES, ret);
}

void htlhash_of_memory(const void *file, size_t size, uint8_t ret[HTLHASH_BYTES])
{
	hash(file, (const uint8_t *)file + (size - edge_of(size)), size, ret);
}

static int read_edge(int fd, uint64_t offset, uint8_t *to, size_t length)
{
	while (length) {
		ssize_t got = pread(fd, to, length, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		to += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

int htlhash_of_file(int fd, uint64_t size, uint8_t ret[HTLHASH_BYTES])
{
	uint8_t head[EDGE_BYTES], tail[EDGE_BYTES];
	size_t edge = edge_of(size);
	int status = read_edge(fd, 0, head, edge);

	if (!status)
		status = read_edge(fd, size - edge, tail, edge);
	if (!status)
		hash(head, tail, size, ret);
	return status;
}
