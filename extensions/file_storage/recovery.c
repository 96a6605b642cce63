// SPDX-License-Identifier: Apache-2.0
#include "recovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A queue of 8 TiB; more in a directory are not its segments. */
enum { SEGMENTS_MAX = 1 << 20 };

struct names {
	VECTOR(struct segment_name) list;
};

static void names_deinit(struct names *names)
{
	VECTOR_DEINIT(&names->list);
}

/* ---- the list ---- */

static struct profcol_error *list_names(int directory_fd, const char *path, struct names *ret)
{
	CLEANUP_DIRECTORY DIR *stream = NULL;
	// A descriptor of its own, which closedir() closes.
	CLEANUP_FD int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	if (fd >= 0)
		stream = fdopendir(fd);
	if (!stream)
		return profcol_error_errno(errno, "cannot list '%s'", path);
	fd = -1;
	while ((errno = 0, entry = readdir(stream))) {
		struct segment_name name;

		if (!segment_name_parse(entry->d_name, &name))
			continue;
		if (ret->list.count == SEGMENTS_MAX)
			return profcol_error_create(
				PROFCOL_UNSUPPORTED,
				"'%s' holds more than %d segments; move it away", path,
				SEGMENTS_MAX);
		if (!VECTOR_PUSH(&ret->list, name))
			return profcol_error_errno(ENOMEM, "cannot list '%s'", path);
	}
	if (errno)
		return profcol_error_errno(errno, "cannot list '%s'", path);
	return NULL;
}

static int compare_names(const void *left, const void *right)
{
	const struct segment_name *a = left, *b = right;

	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return (a->salt > b->salt) - (a->salt < b->salt);
}

static struct profcol_error *cannot_read(const char *path, const struct segment_name *name,
					 int errnum)
{
	char text[SEGMENT_NAME_BYTES];

	segment_name_format(name, text);
	return profcol_error_errno(errnum, "cannot read '%s/%s'", path, text);
}

/* ---- the records ---- */

static struct profcol_error *check_version(int directory_fd, const char *path,
					   const struct segment_name *name)
{
	CLEANUP_FD int fd = stored_segment_open(directory_fd, name, O_RDONLY);
	uint32_t version;
	int status;

	if (fd < 0)
		return cannot_read(path, name, -fd);
	status = segment_read_version(fd, &version);
	if (status)
		return cannot_read(path, name, -status);
	if (version <= SEGMENT_VERSION)
		return NULL;
	return profcol_error_create(PROFCOL_UNSUPPORTED,
				    "the queue in '%s' is of format %u, this version knows formats "
				    "up to %d; run the newer version again, or move the directory "
				    "away",
				    path, version, SEGMENT_VERSION);
}

static void count_unfinished(struct stored_segment *segment)
{
	for (size_t i = 0; i < segment->records.list.count; i++)
		segment->unfinished += segment->records.list.items[i].state == SEGMENT_READY;
}

static struct profcol_error *read_segment(int directory_fd, const char *path,
					  const struct segment_name *name,
					  struct stored_segments *segments)
{
	CLEANUP_FD int fd = stored_segment_open(directory_fd, name, O_RDONLY);
	struct stored_segment *segment;
	int status;

	if (fd < 0)
		return cannot_read(path, name, -fd);
	segment = calloc(1, sizeof(*segment));
	if (!segment || !VECTOR_PUSH(&segments->list, segment)) {
		free(segment);
		return cannot_read(path, name, ENOMEM);
	}
	segment->name = *name;
	segment->number = (uint32_t)segments->list.count;
	status = segment_scan(fd, name->salt, &segment->records, &segment->size);
	if (status)
		return cannot_read(path, name, -status);
	count_unfinished(segment);
	return NULL;
}

struct profcol_error *recovery_read(int directory_fd, const char *path, struct stored_segments *ret)
{
	CLEANUP(stored_segments_deinit) struct stored_segments segments = { 0 };
	CLEANUP(names_deinit) struct names names = { 0 };
	struct profcol_error *error = list_names(directory_fd, path, &names);

	if (error)
		return error;
	if (names.list.count)
		qsort(names.list.items, names.list.count, sizeof(*names.list.items), compare_names);
	for (size_t i = 0; i < names.list.count && !error; i++)
		error = check_version(directory_fd, path, &names.list.items[i]);
	for (size_t i = 0; i < names.list.count && !error; i++)
		error = read_segment(directory_fd, path, &names.list.items[i], &segments);
	if (error)
		return error;
	*ret = segments;
	segments = (struct stored_segments){ 0 };
	return NULL;
}

void recovery_cut_torn(int directory_fd, struct stored_segment *segment)
{
	CLEANUP_FD int fd = -1;

	if (!segment->records.torn_at)
		return;
	fd = stored_segment_open(directory_fd, &segment->name, O_RDWR);
	if (fd >= 0 && !ftruncate(fd, (off_t)segment->records.torn_at))
		segment->size = segment->records.torn_at;
}
