// SPDX-License-Identifier: Apache-2.0
#include "disk_queue.h"

#include "disk_queue_state.h"
#include "recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

enum {
	SEGMENT_TARGET_BYTES = 8 << 20, /* a segment is closed at this size */
	SEGMENTS_PER_QUEUE = 8,         /* at least, so that a small queue can let go of parts */
	RECORDS_MAX = 4 << 20,          /* so that the index stays below 64 MiB */
};

/* Functions below hold the lock, or are alone with the queue, unless they say otherwise. */

struct stored_segment *disk_queue_last_segment(const struct profcol_storage_queue *queue)
{
	return queue->segments.list.items[queue->segments.list.count - 1];
}

static void set_disk_bytes(struct profcol_storage_queue *queue, uint64_t bytes)
{
	queue->disk_bytes = bytes;
	profcol_metric_set(queue->disk_gauge, (int64_t)bytes);
}

/* ---- segments ---- */

void disk_queue_remove_segment(struct profcol_storage_queue *queue, size_t index)
{
	struct stored_segment **segments = queue->segments.list.items;
	struct stored_segment *segment = segments[index];
	char name[SEGMENT_NAME_BYTES];

	segment_name_format(&segment->name, name);
	// What cannot be removed goes on taking up space, but its records are marked.
	if (!segment->is_kept && (!unlinkat(queue->directory_fd, name, 0) || errno == ENOENT))
		set_disk_bytes(queue, queue->disk_bytes - segment->size);
	stored_segment_destroy(segment);
	queue->segments.list.count--;
	for (size_t i = index; i < queue->segments.list.count; i++)
		segments[i] = segments[i + 1];
	if (index < queue->first_ready)
		queue->first_ready--;
}

/* Append no more to the last segment. */
void disk_queue_close_active(struct profcol_storage_queue *queue)
{
	if (queue->active_fd < 0)
		return;
	cleanup_fd(&queue->active_fd);
	queue->active_fd = -1;
	if (!disk_queue_last_segment(queue)->unfinished)
		disk_queue_remove_segment(queue, queue->segments.list.count - 1);
}

static int write_at(int fd, struct iovec *parts, int count, uint64_t offset)
{
	while (count > 0) {
		ssize_t written = pwritev(fd, parts, count, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		offset += (uint64_t)written;
		for (; count > 0 && (size_t)written >= parts->iov_len; parts++, count--)
			written -= (ssize_t)parts->iov_len;
		if (count > 0) {
			parts->iov_base = (uint8_t *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
	return 0;
}

/* Make the file of @segment, with its header. Returns its descriptor or a negative errno. */
static int create_file(struct profcol_storage_queue *queue, const struct stored_segment *segment)
{
	uint8_t header[SEGMENT_HEADER_BYTES];
	struct iovec part = { .iov_base = header, .iov_len = sizeof(header) };
	CLEANUP_FD int fd =
		stored_segment_open(queue->directory_fd, &segment->name, O_RDWR | O_CREAT | O_EXCL);
	char name[SEGMENT_NAME_BYTES];
	int status;

	if (fd < 0)
		return fd;
	segment_encode_header(header);
	status = write_at(fd, &part, 1, 0);
	if (!status && queue->fsync && fsync(queue->directory_fd))
		status = -errno;
	if (!status)
		return TAKE_FD(fd);
	segment_name_format(&segment->name, name);
	unlinkat(queue->directory_fd, name, 0);
	return status;
}

static int open_active(struct profcol_storage_queue *queue)
{
	struct stored_segment *segment = calloc(1, sizeof(*segment));
	int fd = -ENOMEM;

	if (!segment || !VECTOR_RESERVE(&queue->segments.list, 1))
		goto failed;
	fd = -EOVERFLOW;
	if (queue->next_sequence > INT64_MAX)
		goto failed;
	segment->name.sequence = queue->next_sequence++;
	segment->number = queue->next_number++;
	segment->size = SEGMENT_HEADER_BYTES;
	fd = -EAGAIN;
	if (getrandom(&segment->name.salt, sizeof(segment->name.salt), 0) !=
	    sizeof(segment->name.salt))
		goto failed;
	fd = create_file(queue, segment);
	if (fd < 0)
		goto failed;
	queue->segments.list.items[queue->segments.list.count++] = segment;
	queue->active_fd = fd;
	set_disk_bytes(queue, queue->disk_bytes + segment->size);
	return 0;
failed:
	stored_segment_destroy(segment);
	return fd;
}

/* ---- append ---- */

/* Bytes that a record of @bytes adds on disk. */
static uint64_t growth(const struct profcol_storage_queue *queue, uint64_t bytes)
{
	return queue->active_fd < 0 ? bytes + SEGMENT_HEADER_BYTES : bytes;
}

static struct profcol_error *make_room(struct profcol_storage_queue *queue, uint64_t bytes)
{
	if (queue->active_fd >= 0 && disk_queue_last_segment(queue)->size > SEGMENT_HEADER_BYTES &&
	    disk_queue_last_segment(queue)->size + bytes > queue->segment_bytes)
		disk_queue_close_active(queue);
	// A segment of which nothing is left to send may go early.
	if (queue->disk_bytes + growth(queue, bytes) > queue->max_bytes && queue->active_fd >= 0 &&
	    !disk_queue_last_segment(queue)->unfinished)
		disk_queue_close_active(queue);
	if (queue->disk_bytes + growth(queue, bytes) > queue->max_bytes)
		return profcol_error_create(PROFCOL_UNAVAILABLE,
					    "queue on disk is full, %" PRIu64 " bytes in '%s'; "
					    "raise 'max_size'",
					    queue->disk_bytes, queue->path);
	if (queue->figures.records >= RECORDS_MAX)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"queue on disk is full, %d requests in '%s'; send larger "
			"ones",
			RECORDS_MAX, queue->path);
	return NULL;
}

static int write_record(struct profcol_storage_queue *queue, const struct segment_record *record,
			const uint8_t *bytes, uint64_t body_checksum)
{
	struct stored_segment *segment = disk_queue_last_segment(queue);
	uint64_t total = segment_record_bytes(record->length);
	uint8_t header[SEGMENT_RECORD_HEADER_BYTES], zeros[8] = { 0 };
	struct iovec parts[] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (uint8_t *)(uintptr_t)bytes, .iov_len = record->length },
		{ .iov_base = zeros, .iov_len = total - sizeof(header) - record->length },
	};
	int status;

	segment_encode_record(header, segment->name.salt, record, body_checksum);
	status = write_at(queue->active_fd, parts, 3, record->offset);
	if (!status && queue->fsync && fdatasync(queue->active_fd))
		status = -errno;
	// A part of a record in the middle would hide what is behind. If it cannot be cut off it
	// stays the end of its segment: the next open takes it for a damaged one.
	if (status && ftruncate(queue->active_fd, (off_t)segment->size))
		disk_queue_close_active(queue);
	if (status)
		return status;
	segment->size += total;
	set_disk_bytes(queue, queue->disk_bytes + total);
	return 0;
}

static struct profcol_error *cannot_append(const struct profcol_storage_queue *queue, size_t length,
					   int errnum)
{
	if (errnum != ENOSPC && errnum != EDQUOT)
		return profcol_error_errno(errnum, "cannot store %zu bytes in '%s'", length,
					   queue->path);
	return profcol_error_create(PROFCOL_UNAVAILABLE,
				    "cannot store %zu bytes in '%s': %s; make room there, or lower "
				    "'max_size'",
				    length, queue->path, strerrordesc_np(errnum));
}

/* Returns 0 or a negative errno: then nothing was kept. */
static int try_append(struct profcol_storage_queue *queue, struct segment_record *record,
		      const uint8_t *bytes, uint64_t body_checksum)
{
	struct stored_segment *segment;
	int status = queue->active_fd < 0 ? open_active(queue) : 0;

	if (status)
		return status;
	segment = disk_queue_last_segment(queue);
	if (!VECTOR_RESERVE(&segment->records.list, 1))
		return -ENOMEM;
	record->offset = (uint32_t)segment->size;
	status = write_record(queue, record, bytes, body_checksum);
	if (status)
		return status;
	segment->records.list.items[segment->records.list.count++] = *record;
	segment->unfinished++;
	return 0;
}

static struct profcol_error *append_record(struct profcol_storage_queue *queue,
					   const uint8_t *bytes, size_t length, uint64_t samples,
					   uint64_t body_checksum)
{
	struct segment_record record = { .length = (uint32_t)length, .samples = samples };
	struct profcol_error *error;
	uint64_t disk_bytes;
	int status;

	lost_files_before_append(queue);
	error = make_room(queue, segment_record_bytes(length));
	if (error)
		return error;
	status = try_append(queue, &record, bytes, body_checksum);
	disk_bytes = queue->disk_bytes;
	// Closed, a segment gives back its space as soon as all that is in it is sent.
	if (status == -ENOSPC || status == -EDQUOT)
		disk_queue_close_active(queue);
	if (queue->disk_bytes < disk_bytes)
		status = try_append(queue, &record, bytes, body_checksum);
	if (status)
		return cannot_append(queue, length, -status);
	queue->figures.records++;
	queue->figures.bytes += length;
	queue->figures.samples += samples;
	lost_files_after_append(queue);
	return NULL;
}

/* The longest body that fits into an empty queue of @max_bytes, padded to 8 bytes as it is. */
static uint64_t longest_record(uint64_t max_bytes)
{
	uint64_t longest =
		(max_bytes & ~UINT64_C(7)) - SEGMENT_HEADER_BYTES - SEGMENT_RECORD_HEADER_BYTES;

	return longest < SEGMENT_BODY_MAX_BYTES ? longest : SEGMENT_BODY_MAX_BYTES;
}

/* Takes the lock. */
struct profcol_error *disk_queue_append(struct profcol_storage_queue *queue, const uint8_t *bytes,
					size_t length, uint64_t samples)
{
	struct profcol_error *error;
	uint64_t checksum;

	if (length > queue->figures.max_record_bytes)
		return profcol_error_create(
			PROFCOL_REJECTED,
			"a request of %zu bytes does not fit into the queue on "
			"disk; set a 'max_size' that holds several, and at most "
			"%d MiB as a request's size",
			length, SEGMENT_BODY_MAX_BYTES >> 20);
	checksum = segment_body_checksum(bytes, length);
	pthread_mutex_lock(&queue->lock);
	error = append_record(queue, bytes, length, samples, checksum);
	pthread_mutex_unlock(&queue->lock);
	return error;
}

/* ---- take and finish ---- */

static void mark_finished(struct profcol_storage_queue *queue, size_t index,
			  const struct segment_record *record)
{
	const struct stored_segment *segment = queue->segments.list.items[index];
	CLEANUP_FD int opened = -1;
	int fd = queue->active_fd;

	if (segment->is_lost)
		return;
	if (fd < 0 || index + 1 < queue->segments.list.count)
		fd = opened = stored_segment_open(queue->directory_fd, &segment->name, O_RDWR);
	// Should it fail, the record is sent a second time by the next process.
	if (fd >= 0)
		(void)!segment_write_finished(fd, segment->name.salt, record);
}

/* @record will not be taken again while the queue is open. */
static void retire(struct profcol_storage_queue *queue, size_t index, struct segment_record *record)
{
	struct stored_segment *segment = queue->segments.list.items[index];
	bool active = queue->active_fd >= 0 && index + 1 == queue->segments.list.count;

	record->state = SEGMENT_FINISHED;
	queue->figures.records--;
	queue->figures.bytes -= record->length;
	queue->figures.samples -= record->samples;
	if (!--segment->unfinished && !active)
		disk_queue_remove_segment(queue, index);
}

/* Nor later. */
static void settle(struct profcol_storage_queue *queue, size_t index, struct segment_record *record)
{
	mark_finished(queue, index, record);
	retire(queue, index, record);
}

static struct segment_record *next_ready(struct profcol_storage_queue *queue, size_t *index_ret)
{
	for (; queue->first_ready < queue->segments.list.count; queue->first_ready++) {
		struct stored_segment *segment = queue->segments.list.items[queue->first_ready];

		for (; segment->next < segment->records.list.count; segment->next++) {
			struct segment_record *record = &segment->records.list.items[segment->next];

			if (record->state != SEGMENT_READY)
				continue;
			*index_ret = queue->first_ready;
			return record;
		}
		// The last segment may still get records.
		if (queue->first_ready + 1 == queue->segments.list.count)
			return NULL;
	}
	return NULL;
}

/* One that is damaged, or that the device does not give: then @is_kept on disk, since another
 * attempt may succeed. */
static void give_up_record(struct profcol_storage_queue *queue, uint64_t id, bool is_kept)
{
	size_t index;
	struct segment_record *record = stored_segments_find(&queue->segments, id, &index);

	if (!record)
		return;
	queue->figures.damaged_records++;
	queue->figures.damaged_samples += record->samples;
	profcol_metric_add(queue->damaged_counter, 1);
	// The host's line is for the user; this one adds the place.
	profcol_log_debug(queue->host->logger, "a record of %u bytes in '%s' %s, it is left out",
			  record->length, queue->path, is_kept ? "cannot be read" : "is damaged");
	if (is_kept) {
		queue->segments.list.items[index]->is_kept = true;
		retire(queue, index, record);
	} else {
		settle(queue, index, record);
	}
}

static void return_record(struct profcol_storage_queue *queue, uint64_t id)
{
	size_t index, position;
	struct segment_record *record = stored_segments_find(&queue->segments, id, &index);
	struct stored_segment *segment;

	if (!record || record->state != SEGMENT_TAKEN)
		return;
	if (queue->segments.list.items[index]->is_lost) {
		give_up_record(queue, id, false);
		return;
	}
	segment = queue->segments.list.items[index];
	position = (size_t)(record - segment->records.list.items);
	record->state = SEGMENT_READY;
	if (position < segment->next)
		segment->next = position;
	if (index < queue->first_ready)
		queue->first_ready = index;
}

/* What a taker needs to read a record without the lock. */
struct claim {
	struct segment_name name;
	struct segment_record record;
};

static bool claim_next(struct profcol_storage_queue *queue, struct claim *claim,
		       struct profcol_record *ret)
{
	size_t index;
	struct segment_record *record = next_ready(queue, &index);
	const struct stored_segment *segment;

	if (!record)
		return false;
	segment = queue->segments.list.items[index];
	record->state = SEGMENT_TAKEN;
	*claim = (struct claim){ .name = segment->name, .record = *record };
	*ret = (struct profcol_record){
		.id = stored_segment_id(segment, record),
		.length = record->length,
		.samples = record->samples,
	};
	return true;
}

/* Without the lock: the file of a record that is taken stays. */
static int read_claim(const struct profcol_storage_queue *queue, const struct claim *claim,
		      uint8_t **ret)
{
	CLEANUP_FD int fd = stored_segment_open(queue->directory_fd, &claim->name, O_RDONLY);

	return fd < 0 ? fd : segment_read_record(fd, claim->name.salt, &claim->record, ret);
}

/* What to do about @record, whose reading came to @status. */
static enum profcol_take conclude(struct profcol_storage_queue *queue,
				  const struct profcol_record *record, int status)
{
	uint64_t faulty_id = queue->read_faults.id;
	size_t index;
	enum read_verdict verdict;

	// Its file may be gone, and others with it: then more than this record is lost.
	if (status == -ENOENT || status == -EBADMSG)
		lost_files_look(queue);
	if (!stored_segments_find(&queue->segments, record->id, &index))
		return PROFCOL_TAKE_NONE;
	verdict = read_faults_judge(&queue->read_faults, record->id, status, clock_monotonic_ns());

	if (verdict == READ_SOUND)
		return PROFCOL_TAKE_RECORD;
	if (verdict != READ_LATER) {
		give_up_record(queue, record->id, verdict == READ_FAULTY);
		return PROFCOL_TAKE_NONE;
	}
	if (queue->read_faults.id != faulty_id)
		profcol_log_warn(queue->host->logger,
				 "cannot read from '%s': %s; what is stored there waits",
				 queue->path, strerrordesc_np(-status));
	return_record(queue, record->id);
	return PROFCOL_TAKE_LATER;
}

/* Takes the lock. */
enum profcol_take disk_queue_take(struct profcol_storage_queue *queue, struct profcol_record *ret)
{
	enum profcol_take take = PROFCOL_TAKE_NONE;
	struct profcol_record record;
	struct claim claim;
	int status;

	pthread_mutex_lock(&queue->lock);
	while (take == PROFCOL_TAKE_NONE && claim_next(queue, &claim, &record)) {
		pthread_mutex_unlock(&queue->lock);
		status = read_claim(queue, &claim, &record.bytes);
		pthread_mutex_lock(&queue->lock);
		take = conclude(queue, &record, status);
	}
	pthread_mutex_unlock(&queue->lock);
	if (take == PROFCOL_TAKE_RECORD)
		*ret = record;
	return take;
}

/* Takes the lock, as the next ones. */
void disk_queue_put_back(struct profcol_storage_queue *queue, uint64_t id)
{
	pthread_mutex_lock(&queue->lock);
	return_record(queue, id);
	pthread_mutex_unlock(&queue->lock);
}

void disk_queue_finish(struct profcol_storage_queue *queue, uint64_t id)
{
	struct segment_record *record;
	size_t index;

	pthread_mutex_lock(&queue->lock);
	record = stored_segments_find(&queue->segments, id, &index);
	if (record && record->state != SEGMENT_FINISHED)
		settle(queue, index, record);
	pthread_mutex_unlock(&queue->lock);
}

void disk_queue_figures(struct profcol_storage_queue *queue, struct profcol_storage_figures *ret)
{
	pthread_mutex_lock(&queue->lock);
	lost_files_look_now_and_then(queue);
	*ret = queue->figures;
	pthread_mutex_unlock(&queue->lock);
}

/* ---- open and close ---- */

static void add_figures(struct profcol_storage_queue *queue, const struct stored_segment *segment)
{
	for (size_t i = 0; i < segment->records.list.count; i++) {
		const struct segment_record *record = &segment->records.list.items[i];

		if (record->state == SEGMENT_FINISHED)
			continue;
		queue->figures.records++;
		queue->figures.bytes += record->length;
		queue->figures.samples += record->samples;
	}
	queue->figures.damaged_records += segment->records.damaged;
	queue->figures.damaged_samples += segment->records.damaged_samples;
}

static void adopt(struct profcol_storage_queue *queue)
{
	const struct profcol_storage_figures *figures = &queue->figures;
	uint64_t bytes = 0;

	for (size_t i = 0; i < queue->segments.list.count; i++) {
		struct stored_segment *segment = queue->segments.list.items[i];

		add_figures(queue, segment);
		recovery_cut_torn(queue->directory_fd, segment);
		bytes += segment->size;
		queue->next_sequence = segment->name.sequence + 1;
		queue->next_number = segment->number + 1;
	}
	set_disk_bytes(queue, bytes);
	for (size_t i = queue->segments.list.count; i > 0; i--)
		if (!queue->segments.list.items[i - 1]->unfinished)
			disk_queue_remove_segment(queue, i - 1);
	profcol_metric_add(queue->damaged_counter, (int64_t)figures->damaged_records);
	if (figures->records)
		profcol_log_debug(queue->host->logger,
				  "%" PRIu64 " records of %" PRIu64 " samples are left from before "
				  "in '%s'",
				  figures->records, figures->samples, queue->path);
	if (figures->damaged_records)
		profcol_log_debug(queue->host->logger, "%" PRIu64 " places in '%s' are damaged",
				  figures->damaged_records, queue->path);
}

struct profcol_error *disk_queue_open(const struct disk_queue_settings *settings, int directory_fd,
				      char *path, struct profcol_storage_queue **ret)
{
	struct profcol_storage_queue *queue = calloc(1, sizeof(*queue));
	const struct profcol_host *host = settings->host;
	struct profcol_error *error;
	char label[256];

	if (!queue)
		return profcol_error_errno(ENOMEM, "cannot open '%s'", path);
	error = recovery_read(directory_fd, path, &queue->segments);
	if (error) {
		free(queue);
		return error;
	}
	snprintf(label, sizeof(label), "queue=%s", settings->name);
	queue->directory_fd = directory_fd;
	queue->path = path;
	queue->host = host;
	queue->name = strdup(settings->name);
	queue->reopen = settings->reopen;
	queue->reopen_context = settings->reopen_context;
	queue->max_bytes = queue->figures.capacity_bytes = settings->max_bytes;
	queue->figures.max_record_bytes = longest_record(settings->max_bytes);
	queue->segment_bytes = settings->max_bytes / SEGMENTS_PER_QUEUE < SEGMENT_TARGET_BYTES
				       ? settings->max_bytes / SEGMENTS_PER_QUEUE
				       : SEGMENT_TARGET_BYTES;
	queue->fsync = settings->fsync;
	queue->disk_gauge = host->metric(host, PROFCOL_GAUGE, "file_storage_bytes", label,
					 "bytes of the queue's files");
	queue->damaged_counter = host->metric(host, PROFCOL_COUNTER, "file_storage_damaged_records",
					      label, "records that could not be read back");
	queue->active_fd = -1;
	queue->next_sequence = queue->next_number = 1;
	pthread_mutex_init(&queue->lock, NULL);
	adopt(queue);
	*ret = queue;
	return NULL;
}

void disk_queue_close(struct profcol_storage_queue *queue)
{
	if (!queue)
		return;
	disk_queue_close_active(queue);
	stored_segments_deinit(&queue->segments);
	pthread_mutex_destroy(&queue->lock);
	cleanup_fd(&queue->directory_fd);
	free(queue->name);
	free(queue->path);
	free(queue);
}
