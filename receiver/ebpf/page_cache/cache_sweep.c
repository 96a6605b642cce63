// SPDX-License-Identifier: Apache-2.0
#include "cache_sweep.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STEP_FILES = 64,
	FILES_MAX = 1 << 18, /* looked at; of a directory with more the rest stays */
};

/* A file that was not finished by then never will be. */
static const int64_t temporary_limit_ns = 600ll * 1000000000;

bool cache_sweep_begin(struct cache_sweep *sweep, const struct cache_directory *directory)
{
	int fd;

	if (sweep->listing)
		return true;
	fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	sweep->listing = fdopendir(fd);
	if (!sweep->listing) {
		close(fd);
		return false;
	}
	sweep->removes = false;
	sweep->files.count = 0;
	sweep->bytes = sweep->removed = 0;
	return true;
}

void cache_sweep_deinit(struct cache_sweep *sweep)
{
	if (sweep->listing)
		closedir(sweep->listing);
	sweep->listing = NULL;
	VECTOR_DEINIT(&sweep->files);
}

static void drop_temporary(const struct cache_directory *directory, const char *name,
			   int64_t modified_ns)
{
	int64_t age_ns = (int64_t)clock_realtime_ns() - modified_ns;

	if (age_ns > temporary_limit_ns || age_ns < -temporary_limit_ns)
		cache_directory_remove(directory, name);
}

/* In the second round. */
static bool is_to_go(struct cache_sweep *sweep, const struct cache_file *file)
{
	if (file->modified_ns != sweep->removed_to_ns)
		return file->modified_ns < sweep->removed_to_ns;
	if (!sweep->removed_bytes)
		return false;
	sweep->removed_bytes -=
		file->disk_bytes < sweep->removed_bytes ? file->disk_bytes : sweep->removed_bytes;
	return true;
}

static void look_at(struct cache_sweep *sweep, const struct cache_directory *directory,
		    const char *name)
{
	struct cache_file file;
	struct stat stat;

	if (fstatat(directory->fd, name, &stat, AT_SYMLINK_NOFOLLOW))
		return;
	file.modified_ns = stat.st_mtim.tv_sec * 1000000000ll + stat.st_mtim.tv_nsec;
	file.disk_bytes = (uint64_t)stat.st_blocks * 512;
	if (!strncmp(name, CACHE_TEMPORARY_PREFIX, strlen(CACHE_TEMPORARY_PREFIX)))
		drop_temporary(directory, name, file.modified_ns);
	if (!cache_entry_is_name(name))
		return;
	if (!sweep->removes) {
		if (sweep->files.count < FILES_MAX && VECTOR_PUSH(&sweep->files, file))
			sweep->bytes += file.disk_bytes;
	} else if (is_to_go(sweep, &file) && cache_directory_remove(directory, name)) {
		sweep->bytes -= file.disk_bytes < sweep->bytes ? file.disk_bytes : sweep->bytes;
		sweep->removed++;
	}
}

static int compare_youngest_first(const void *left, const void *right)
{
	const struct cache_file *a = left, *b = right;

	return (a->modified_ns < b->modified_ns) - (a->modified_ns > b->modified_ns);
}

/* Some room is made at once, so that it is not made for each file anew. */
static void choose_oldest(struct cache_sweep *sweep, uint64_t target_bytes)
{
	uint64_t bytes = 0;

	qsort(sweep->files.items, sweep->files.count, sizeof(*sweep->files.items),
	      compare_youngest_first);
	sweep->removed_to_ns = INT64_MIN;
	sweep->removed_bytes = 0;
	for (size_t i = 0; i < sweep->files.count; i++) {
		const struct cache_file *file = &sweep->files.items[i];

		bytes += file->disk_bytes;
		if (bytes <= target_bytes)
			continue;
		// Many may be of one time: of a copy, or a file system that counts seconds.
		if (sweep->removed_to_ns == INT64_MIN)
			sweep->removed_to_ns = file->modified_ns;
		if (file->modified_ns == sweep->removed_to_ns)
			sweep->removed_bytes += file->disk_bytes;
	}
}

/* The listing has ended. */
static bool end_round(struct cache_sweep *sweep, uint64_t limit_bytes)
{
	if (!sweep->removes && sweep->bytes > limit_bytes) {
		choose_oldest(sweep, limit_bytes / 8 * 7);
		sweep->removes = true;
		rewinddir(sweep->listing);
		return false;
	}
	closedir(sweep->listing);
	sweep->listing = NULL;
	VECTOR_DEINIT(&sweep->files);
	return true;
}

bool cache_sweep_step(struct cache_sweep *sweep, const struct cache_directory *directory,
		      uint64_t limit_bytes)
{
	for (int i = 0; i < STEP_FILES; i++) {
		const struct dirent *entry = readdir(sweep->listing);

		if (!entry)
			return end_round(sweep, limit_bytes);
		look_at(sweep, directory, entry->d_name);
	}
	return false;
}
