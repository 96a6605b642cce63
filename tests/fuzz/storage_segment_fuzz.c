// SPDX-License-Identifier: Apache-2.0
/*
 * A segment of any bytes, through the opening of its queue, taking all that is in it, and
 * an append. The first byte says whether headers that look like records get the checksum
 * that they need: the reader would hardly ever see a sound one otherwise.
 */
#include "extensions/file_storage/disk_queue.h"
#include "extensions/file_storage/segment.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct segment_name name = { .sequence = 1, .salt = 42 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ignore_line(const struct profcol_logger *logger, enum profcol_level level,
			const char *format, va_list arguments)
{
	(void)logger;
	(void)level;
	(void)format;
	(void)arguments;
}

static struct profcol_metric *one_metric(const struct profcol_host *host,
					 enum profcol_metric_kind kind, const char *metric_name,
					 const char *label, const char *doc)
{
	static struct profcol_metric metric;

	(void)host;
	(void)kind;
	(void)metric_name;
	(void)label;
	(void)doc;
	return &metric;
}

static uint32_t read_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t read_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Keeps length and samples of what looks like a record, and makes the rest fit. */
static void repair(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + SEGMENT_RECORD_HEADER_BYTES <= size; at += 8) {
		uint8_t *header = bytes + at;
		struct segment_record record = { .offset = (uint32_t)at };
		uint32_t length = read_u32(header + 8);
		size_t left = size - at - SEGMENT_RECORD_HEADER_BYTES;
		uint64_t finished = read_u64(header + 40), checksum = 0;

		if (memcmp(header, "RECORD 1", 8) != 0)
			continue;
		record.length = length & (SEGMENT_BODY_MAX_BYTES - 1);
		record.samples = read_u64(header + 16);
		if (record.length <= left)
			checksum = segment_body_checksum(header + SEGMENT_RECORD_HEADER_BYTES,
							 record.length);
		segment_encode_record(header, name.salt, &record, checksum);
		if (finished == 1)
			finished = ~read_u64(header + 32);
		memcpy(header + 40, &finished, sizeof(finished));
	}
}

static void write_segment(int directory_fd, const uint8_t *bytes, size_t size)
{
	CLEANUP_FREE uint8_t *copy = malloc(size + 1);
	char text[SEGMENT_NAME_BYTES];
	CLEANUP_FD int fd = -1;

	segment_name_format(&name, text);
	fd = openat(directory_fd, text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || !copy)
		abort();
	memcpy(copy, bytes, size);
	if (size && bytes[0] & 1)
		repair(copy, size);
	// The file's magic begins with 'P': its lowest bit is not needed for the choice.
	if (size && copy[0] == ('P' | 1))
		copy[0] = 'P';
	if (write(fd, copy, size) != (ssize_t)size)
		abort();
}

/* Every record in it is given up or finished: nothing stays behind for the next input. */
static void use_queue(struct profcol_storage_queue *queue)
{
	struct profcol_storage_figures figures;
	struct profcol_record record;

	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		disk_queue_append(queue, (const uint8_t *)"own", 3, 3);
	bool came = false;

	if (error)
		abort();
	while (disk_queue_take(queue, &record) == PROFCOL_TAKE_RECORD) {
		came = record.length == 3 && !memcmp(record.bytes, "own", 3);
		free(record.bytes);
		disk_queue_finish(queue, record.id);
	}
	disk_queue_figures(queue, &figures);
	if (!came || figures.records || figures.bytes || figures.samples)
		abort();
}

static char directory_path[] = "/dev/shm/storage_segment_fuzz.XXXXXX";

static void remove_directory(void)
{
	char path[sizeof(directory_path) + SEGMENT_NAME_BYTES], text[SEGMENT_NAME_BYTES];

	segment_name_format(&name, text);
	snprintf(path, sizeof(path), "%s/%s", directory_path, text);
	unlink(path);
	rmdir(directory_path);
}

static int make_directory(void)
{
	int fd = mkdtemp(directory_path) ? open(directory_path, O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0)
		abort();
	atexit(remove_directory);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct profcol_logger logger = {
		.size = sizeof(logger),
		.level = PROFCOL_DEBUG,
		.write = ignore_line,
	};
	static const struct profcol_host host = {
		.size = sizeof(host),
		.logger = &logger,
		.metric = one_metric,
	};
	const struct disk_queue_settings settings = { .name = "q",
						      .max_bytes = 1 << 30,
						      .host = &host };
	static int directory_fd = -1;
	struct profcol_storage_queue *queue;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FD int fd = -1;

	if (directory_fd < 0)
		directory_fd = make_directory();
	write_segment(directory_fd, bytes, size);
	fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 3);
	path = strdup(directory_path);
	error = disk_queue_open(&settings, fd, path, &queue);
	if (error)
		return 0; // a newer version: nothing else is refused
	fd = -1;
	path = NULL;
	use_queue(queue);
	disk_queue_close(queue);
	return 0;
}
