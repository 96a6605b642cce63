// SPDX-License-Identifier: Apache-2.0
/*
 * An administrator, or a cleaner of old files, may take files away under us. What they held is
 * lost, and is counted as damaged; what comes later goes into new ones.
 */
#include "disk_queue_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_INTERVAL_NS UINT64_C(1000000000)

/* What a look has found. */
struct losses {
	uint64_t files, records, samples;
};

static bool is_whole(const struct profcol_storage_queue *queue,
		     const struct stored_segment *segment)
{
	char name[SEGMENT_NAME_BYTES];
	struct stat status;

	segment_name_format(&segment->name, name);
	if (fstatat(queue->directory_fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return errno != ENOENT;
	return (uint64_t)status.st_size >= segment->size;
}

/* Those that somebody has taken have their bytes in memory, and end as others do. */
static void lose(struct profcol_storage_queue *queue, size_t index, struct losses *losses)
{
	struct stored_segment *segment = queue->segments.list.items[index];

	segment->is_lost = true;
	losses->files++;
	for (size_t i = 0; i < segment->records.list.count; i++) {
		struct segment_record *record = &segment->records.list.items[i];

		if (record->state != SEGMENT_READY)
			continue;
		record->state = SEGMENT_FINISHED;
		segment->unfinished--;
		queue->figures.records--;
		queue->figures.bytes -= record->length;
		queue->figures.samples -= record->samples;
		losses->records++;
		losses->samples += record->samples;
	}
	if (queue->active_fd >= 0 && index + 1 == queue->segments.list.count)
		disk_queue_close_active(queue);
	else if (!segment->unfinished)
		disk_queue_remove_segment(queue, index);
}

static void tell(struct profcol_storage_queue *queue, const struct losses *losses)
{
	const struct profcol_host *host = queue->host;
	char text[256];

	queue->figures.damaged_records += losses->records;
	queue->figures.damaged_samples += losses->samples;
	profcol_metric_add(queue->damaged_counter, (int64_t)losses->records);
	queue->is_degraded = true;
	snprintf(text, sizeof(text),
		 "somebody removed or emptied %" PRIu64 " files of the queue in '%.100s': %" PRIu64
		 " requests of %" PRIu64 " samples are lost; later ones go into new files",
		 losses->files, queue->path, losses->records, losses->samples);
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, text);
}

/* The directory, too: a new one of the same name. */
static void renew_directory(struct profcol_storage_queue *queue)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct stat status;
	int fd = -1;

	if (fstat(queue->directory_fd, &status) || status.st_nlink || !queue->reopen ||
	    !queue->name)
		return;
	error = queue->reopen(queue->reopen_context, queue->name, &fd);
	if (error) {
		// What is to be stored fails, and says so; the next request tries again.
		profcol_log_debug(queue->host->logger, "%s", profcol_error_message(error));
		return;
	}
	// The number stays: somebody may be reading by it without the lock.
	(void)dup3(fd, queue->directory_fd, O_CLOEXEC);
	close(fd);
}

void lost_files_look(struct profcol_storage_queue *queue)
{
	struct losses losses = { 0 };

	for (size_t i = queue->segments.list.count; i > 0; i--) {
		struct stored_segment *segment = queue->segments.list.items[i - 1];

		if (!segment->is_lost && !segment->is_kept && !is_whole(queue, segment))
			lose(queue, i - 1, &losses);
	}
	if (losses.files)
		tell(queue, &losses);
	renew_directory(queue);
}

void lost_files_look_now_and_then(struct profcol_storage_queue *queue)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (queue->looked_ns && now_ns - queue->looked_ns < LOOK_INTERVAL_NS)
		return;
	queue->looked_ns = now_ns;
	lost_files_look(queue);
}

void lost_files_before_append(struct profcol_storage_queue *queue)
{
	struct stat status;
	bool lost;

	if (queue->active_fd >= 0) {
		lost = !fstat(queue->active_fd, &status) &&
		       (!status.st_nlink ||
			(uint64_t)status.st_size < disk_queue_last_segment(queue)->size);
	} else {
		lost = !fstat(queue->directory_fd, &status) && !status.st_nlink;
	}
	if (lost)
		lost_files_look(queue);
}

void lost_files_after_append(struct profcol_storage_queue *queue)
{
	const struct profcol_host *host = queue->host;

	if (!queue->is_degraded)
		return;
	queue->is_degraded = false;
	host->report_status(host, PROFCOL_STATUS_OK, NULL);
}
