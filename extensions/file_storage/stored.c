// SPDX-License-Identifier: Apache-2.0
#include "stored.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

void stored_segment_destroy(struct stored_segment *segment)
{
	if (!segment)
		return;
	VECTOR_DEINIT(&segment->records.list);
	free(segment);
}

void stored_segments_deinit(struct stored_segments *segments)
{
	for (size_t i = 0; i < segments->list.count; i++)
		stored_segment_destroy(segments->list.items[i]);
	VECTOR_DEINIT(&segments->list);
}

int stored_segment_open(int directory_fd, const struct segment_name *name, int flags)
{
	char text[SEGMENT_NAME_BYTES];
	CLEANUP_FD int fd = -1;
	struct stat status;

	segment_name_format(name, text);
	fd = openat(directory_fd, text, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || fstat(fd, &status))
		return -errno;
	return S_ISREG(status.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

uint64_t stored_segment_id(const struct stored_segment *segment,
			   const struct segment_record *record)
{
	return (uint64_t)segment->number << 32 | record->offset;
}

/* The position of the segment of @number, or of the first behind where it would be. */
static size_t find_segment(const struct stored_segments *segments, uint64_t number)
{
	size_t low = 0, high = segments->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments->list.items[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t find_offset(const struct segment_records *records, uint32_t offset)
{
	size_t low = 0, high = records->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (records->list.items[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct segment_record *stored_segments_find(const struct stored_segments *segments, uint64_t id,
					    size_t *position_ret)
{
	size_t position = find_segment(segments, id >> 32);
	const struct segment_records *records;
	size_t at;

	if (position == segments->list.count || segments->list.items[position]->number != id >> 32)
		return NULL;
	records = &segments->list.items[position]->records;
	at = find_offset(records, (uint32_t)id);
	if (at == records->list.count || records->list.items[at].offset != (uint32_t)id)
		return NULL;
	*position_ret = position;
	return &records->list.items[at];
}
