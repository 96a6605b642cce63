// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 64 << 10, MAPS_MAX = 4096, KIB = 1024 };

#define MAPS_INTERVAL_NS UINT64_C(10000000000)
#define MAP_LINK         "anon_inode:bpf-map"

void usage_init(struct usage *usage, int process_fd)
{
	*usage = (struct usage){ .process_fd = process_fd };
}

void usage_deinit(struct usage *usage)
{
	cleanup_fd(&usage->process_fd);
}

/* The number behind "@key:" at the begin of a line; false when there is none. */
static bool find_number(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		*ret = strtoull(line + length + 1, &end, 10);
		return end > line + length + 1;
	}
	return false;
}

static int read_resident(const struct usage *usage, uint64_t *ret)
{
	CLEANUP_FREE char *text = NULL;
	uint64_t anonymous, shared;
	int status = file_read(usage->process_fd, "status", TEXT_MAX_BYTES, &text, NULL);

	if (status)
		return status;
	if (!find_number(text, "RssAnon", &anonymous) || !find_number(text, "RssShmem", &shared))
		return -EPROTO;
	*ret = (anonymous + shared) * KIB;
	return 0;
}

/* Ids of the maps that have been counted: one may have several descriptors. */
struct seen_maps {
	VECTOR(uint64_t) ids;
};

static bool is_new(struct seen_maps *seen, uint64_t id)
{
	for (size_t i = 0; i < seen->ids.count; i++)
		if (seen->ids.items[i] == id)
			return false;
	return seen->ids.count < MAPS_MAX && VECTOR_PUSH(&seen->ids, id);
}

static uint64_t read_map(int information_fd, const char *number, struct seen_maps *seen)
{
	CLEANUP_FREE char *text = NULL;
	uint64_t id, bytes;

	// The descriptor may have been closed since.
	if (file_read(information_fd, number, TEXT_MAX_BYTES, &text, NULL) ||
	    !find_number(text, "map_id", &id) || !find_number(text, "memlock", &bytes))
		return 0;
	return is_new(seen, id) ? bytes : 0;
}

static bool is_map(int descriptors_fd, const char *number)
{
	char link[sizeof(MAP_LINK)];
	ssize_t length = readlinkat(descriptors_fd, number, link, sizeof(link));

	return length == sizeof(MAP_LINK) - 1 && !memcmp(link, MAP_LINK, sizeof(MAP_LINK) - 1);
}

static uint64_t read_maps(const struct usage *usage)
{
	CLEANUP_FD int information_fd =
		openat(usage->process_fd, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(usage->process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_DIRECTORY DIR *descriptors = fd < 0 ? NULL : fdopendir(fd);
	struct seen_maps seen = { 0 };
	const struct dirent *entry;
	uint64_t bytes = 0;

	if (!descriptors) {
		cleanup_fd(&fd);
		return 0;
	}
	while (information_fd >= 0 && (entry = readdir(descriptors)))
		if (is_map(fd, entry->d_name))
			bytes += read_map(information_fd, entry->d_name, &seen);
	VECTOR_DEINIT(&seen.ids);
	return bytes;
}

uint64_t usage_maps(struct usage *usage, uint64_t now_ns)
{
	if (!usage->maps_read_ns || now_ns - usage->maps_read_ns >= MAPS_INTERVAL_NS) {
		usage->map_bytes = read_maps(usage);
		usage->maps_read_ns = now_ns;
	}
	return usage->map_bytes;
}

int usage_read(struct usage *usage, uint64_t now_ns, uint64_t *ret)
{
	uint64_t resident;
	int status = read_resident(usage, &resident);

	if (!status)
		*ret = resident + usage_maps(usage, now_ns);
	return status;
}
