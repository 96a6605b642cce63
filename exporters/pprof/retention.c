// SPDX-License-Identifier: Apache-2.0
#include "retention.h"

#include "naming.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct retained_file {
	uint64_t start_unix_ms;
	uint64_t bytes;
	unsigned int ordinal;
	char name[NAMING_MAX];
};

struct retained_files {
	VECTOR(struct retained_file) files;
	uint64_t bytes; /* of all */
};

static void retained_files_deinit(struct retained_files *retained)
{
	VECTOR_DEINIT(&retained->files);
}

static int retained_file_compare(const void *left, const void *right)
{
	const struct retained_file *a = left, *b = right;

	if (a->start_unix_ms != b->start_unix_ms)
		return a->start_unix_ms < b->start_unix_ms ? -1 : 1;
	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

/* Add @name if it is ours and a regular file. False without memory. */
static bool retention_consider(struct retained_files *retained, int directory_fd,
			       const char *prefix, const char *name)
{
	struct retained_file file = { 0 };
	size_t length = strlen(name);
	struct stat status;

	if (length >= sizeof(file.name) ||
	    !naming_parse(name, prefix, &file.start_unix_ms, &file.ordinal) ||
	    fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return true;
	memcpy(file.name, name, length + 1);
	file.bytes = (uint64_t)status.st_size;
	if (!VECTOR_PUSH(&retained->files, file))
		return false;
	retained->bytes += file.bytes;
	return true;
}

static int retention_list(struct retained_files *retained, int directory_fd, const char *prefix)
{
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	bool complete = true;
	DIR *directory;

	if (fd < 0)
		return -errno;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	while (complete && (entry = readdir(directory)))
		complete = retention_consider(retained, directory_fd, prefix, entry->d_name);
	closedir(directory);
	if (!complete)
		return -ENOMEM;
	if (retained->files.count)
		qsort(retained->files.items, retained->files.count, sizeof(*retained->files.items),
		      retained_file_compare);
	return 0;
}

int retention_apply(int directory_fd, const char *prefix, const struct retention_limits *limits,
		    uint64_t now_unix_ns, uint64_t incoming_bytes)
{
	CLEANUP(retained_files_deinit) struct retained_files retained = { 0 };
	uint64_t horizon_ms = 0;
	int removed = 0, error;
	size_t left;

	if (!limits->max_files && !limits->max_age_ns && !limits->max_bytes)
		return 0;
	error = retention_list(&retained, directory_fd, prefix);
	if (error)
		return error;
	if (limits->max_age_ns && now_unix_ns > limits->max_age_ns)
		horizon_ms = (now_unix_ns - limits->max_age_ns) / 1000000;
	left = retained.files.count;
	for (size_t i = 0; i < retained.files.count; i++) {
		const struct retained_file *file = &retained.files.items[i];
		// With nothing coming the newest file stays, however large: a limit that deletes
		// every profile would leave no use for the exporter.
		bool last = !incoming_bytes && left == 1;
		bool over =
			limits->max_files && left + !!incoming_bytes > (uint64_t)limits->max_files;

		over |= limits->max_bytes && retained.bytes + incoming_bytes > limits->max_bytes;
		if (file->start_unix_ms >= horizon_ms && (!over || last))
			break;
		// One that cannot be deleted no longer counts, or younger ones would go for it.
		removed += !unlinkat(directory_fd, file->name, 0);
		left--;
		retained.bytes -= file->bytes;
	}
	return removed;
}
