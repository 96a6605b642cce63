// SPDX-License-Identifier: Apache-2.0
#include "segment.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	RECORD_CHECKED_BYTES = 32, /* of a record's header, under its checksum */
	WINDOW_BYTES = 64 << 10,
	LINE_BYTES = 8, /* records begin at multiples of it */
};

static const char file_magic[] = "PROFCOLQ";
static const char record_magic[] = "RECORD 1";

/* ---- names ---- */

void segment_name_format(const struct segment_name *name, char to[SEGMENT_NAME_BYTES])
{
	snprintf(to, SEGMENT_NAME_BYTES, "%016" PRIx64 "-%016" PRIx64 ".seg", name->sequence,
		 name->salt);
}

static bool parse_hex(const char *digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 16; i++) {
		static const char alphabet[] = "0123456789abcdef";
		const char *digit = digits[i] ? strchr(alphabet, digits[i]) : NULL;

		if (!digit)
			return false;
		value = value << 4 | (uint64_t)(digit - alphabet);
	}
	*ret = value;
	return true;
}

bool segment_name_parse(const char *text, struct segment_name *ret)
{
	if (strlen(text) != SEGMENT_NAME_BYTES - 1 || text[16] != '-' ||
	    strcmp(text + 33, ".seg") != 0)
		return false;
	return parse_hex(text, &ret->sequence) && parse_hex(text + 17, &ret->salt) &&
	       ret->sequence <= INT64_MAX;
}

/* ---- writing ---- */

static void put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put_u64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

void segment_encode_header(uint8_t to[SEGMENT_HEADER_BYTES])
{
	memcpy(to, file_magic, 8);
	put_u32(to + 8, SEGMENT_VERSION);
	put_u32(to + 12, 0);
	put_u64(to + 16, XXH64(to, 16, 0));
}

void segment_encode_record(uint8_t to[SEGMENT_RECORD_HEADER_BYTES], uint64_t salt,
			   const struct segment_record *record, uint64_t body_checksum)
{
	memcpy(to, record_magic, 8);
	put_u32(to + 8, record->length);
	put_u32(to + 12, 0);
	put_u64(to + 16, record->samples);
	put_u64(to + 24, body_checksum);
	put_u64(to + 32, XXH64(to, RECORD_CHECKED_BYTES, salt + record->offset));
	put_u64(to + 40, 0);
}

uint64_t segment_body_checksum(const uint8_t *bytes, size_t length)
{
	return XXH64(bytes, length, 0);
}

/* ---- reading ---- */

/* As pread, but to the end of @length or of the file. */
static ssize_t read_at(int fd, void *to, size_t length, uint64_t offset)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got = pread(fd, (char *)to + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

struct record_header {
	struct segment_record record;
	uint64_t body_checksum;
	uint64_t checksum;
};

/* False when @bytes are not a sound header of a record at @offset. */
static bool decode_record(const uint8_t *bytes, uint64_t salt, uint32_t offset,
			  struct record_header *ret)
{
	struct reader reader = reader_over(bytes + 8, SEGMENT_RECORD_HEADER_BYTES - 8);
	uint32_t length, flags;
	uint64_t samples, finished;

	if (memcmp(bytes, record_magic, 8) != 0)
		return false;
	length = reader_u32(&reader);
	flags = reader_u32(&reader);
	samples = reader_u64(&reader);
	ret->body_checksum = reader_u64(&reader);
	ret->checksum = reader_u64(&reader);
	finished = reader_u64(&reader);
	if (length > SEGMENT_BODY_MAX_BYTES || flags != 0 ||
	    ret->checksum != XXH64(bytes, RECORD_CHECKED_BYTES, salt + offset))
		return false;
	ret->record = (struct segment_record){
		.offset = offset,
		.length = length,
		.state = finished == ~ret->checksum ? SEGMENT_FINISHED : SEGMENT_READY,
		.samples = samples,
	};
	return true;
}

int segment_read_version(int fd, uint32_t *ret)
{
	uint8_t bytes[SEGMENT_HEADER_BYTES] = { 0 };
	struct reader reader = reader_over(bytes + 8, sizeof(bytes) - 8);
	ssize_t got = read_at(fd, bytes, sizeof(bytes), 0);
	uint32_t version;

	*ret = 0;
	if (got < 0)
		return (int)got;
	if (got != sizeof(bytes) || memcmp(bytes, file_magic, 8) != 0)
		return 0;
	version = reader_u32(&reader);
	reader_u32(&reader);
	if (reader_u64(&reader) == XXH64(bytes, 16, 0))
		*ret = version;
	return 0;
}

/* A piece of the file in memory. */
struct window {
	int fd;
	uint64_t size;  /* of the file */
	uint64_t begin; /* of the piece */
	size_t length;
	int status; /* of reading; stays at the first error */
	uint8_t bytes[WINDOW_BYTES];
};

/* @length bytes of the file at @offset, which it has; zeros in their place after an error. */
static const uint8_t *window_at(struct window *window, uint64_t offset, size_t length)
{
	ssize_t got;

	if (offset >= window->begin && offset + length <= window->begin + window->length)
		return window->bytes + (offset - window->begin);
	window->begin = offset;
	window->length = window->size - offset < WINDOW_BYTES ? (size_t)(window->size - offset)
							      : WINDOW_BYTES;
	got = read_at(window->fd, window->bytes, window->length, offset);
	if (got < 0 && !window->status)
		window->status = (int)got;
	// What the file has lost meanwhile is no record.
	if (got < (ssize_t)window->length)
		memset(window->bytes + (got > 0 ? got : 0), 0,
		       window->length - (size_t)(got > 0 ? got : 0));
	return window->bytes;
}

/* The first sound header at @offset or behind; false when there is none. */
static bool find_record(struct window *window, uint64_t salt, uint64_t offset,
			struct record_header *ret)
{
	for (; !window->status && offset + SEGMENT_RECORD_HEADER_BYTES <= window->size;
	     offset += LINE_BYTES)
		if (decode_record(window_at(window, offset, SEGMENT_RECORD_HEADER_BYTES), salt,
				  (uint32_t)offset, ret))
			return true;
	return false;
}

/* The file ends within the record at @offset; @header is NULL when that is cut off, too. */
static void note_torn(struct segment_records *records, uint64_t offset,
		      const struct record_header *header)
{
	records->torn_at = offset;
	if (header && header->record.state == SEGMENT_FINISHED)
		return;
	records->damaged++;
	records->damaged_samples += header ? header->record.samples : 0;
}

static int scan(struct window *window, uint64_t salt, struct segment_records *records)
{
	uint64_t offset = SEGMENT_HEADER_BYTES;
	struct record_header found;

	// As a power cut leaves it: what was in it cannot be told, not even that there was nothing.
	if (window->size < SEGMENT_HEADER_BYTES)
		records->damaged++;
	while (offset + SEGMENT_RECORD_HEADER_BYTES <= window->size) {
		uint64_t end;

		if (!find_record(window, salt, offset, &found)) {
			records->damaged += !window->status;
			return window->status;
		}
		if (found.record.offset != offset)
			records->damaged++;
		end = found.record.offset + (uint64_t)SEGMENT_RECORD_HEADER_BYTES +
		      found.record.length;
		if (end > window->size) {
			note_torn(records, found.record.offset, &found);
			return 0;
		}
		if (!VECTOR_PUSH(&records->list, found.record))
			return -ENOMEM;
		offset = found.record.offset + segment_record_bytes(found.record.length);
	}
	if (offset < window->size)
		note_torn(records, offset, NULL);
	return 0;
}

int segment_scan(int fd, uint64_t salt, struct segment_records *records, uint64_t *size_ret)
{
	CLEANUP_FREE struct window *window = malloc(sizeof(*window));
	struct stat status;
	int result;

	if (!window)
		return -ENOMEM;
	window->fd = fd;
	window->begin = window->length = 0;
	window->status = 0;
	if (fstat(fd, &status))
		return -errno;
	window->size = (uint64_t)status.st_size;
	if (window->size > SEGMENT_MAX_BYTES) {
		records->damaged++;
		window->size = SEGMENT_MAX_BYTES;
	}
	*size_ret = window->size;
	result = scan(window, salt, records);
	// What is behind the part that was read is not ours to cut off.
	if ((uint64_t)status.st_size > window->size)
		records->torn_at = 0;
	return result;
}

/* ---- one record ---- */

static int read_header(int fd, uint64_t salt, const struct segment_record *record,
		       struct record_header *ret)
{
	uint8_t bytes[SEGMENT_RECORD_HEADER_BYTES];
	ssize_t got = read_at(fd, bytes, sizeof(bytes), record->offset);

	if (got < 0)
		return (int)got;
	if (got != sizeof(bytes) || !decode_record(bytes, salt, record->offset, ret) ||
	    ret->record.length != record->length)
		return -EBADMSG;
	return 0;
}

int segment_read_record(int fd, uint64_t salt, const struct segment_record *record, uint8_t **ret)
{
	CLEANUP_FREE uint8_t *body = malloc((size_t)record->length + 1);
	struct record_header header;
	ssize_t got;
	int status;

	if (!body)
		return -ENOMEM;
	status = read_header(fd, salt, record, &header);
	if (status)
		return status;
	got = read_at(fd, body, record->length, record->offset + SEGMENT_RECORD_HEADER_BYTES);
	if (got < 0)
		return (int)got;
	if (got != (ssize_t)record->length ||
	    segment_body_checksum(body, record->length) != header.body_checksum)
		return -EBADMSG;
	*ret = TAKE(body);
	return 0;
}

int segment_write_finished(int fd, uint64_t salt, const struct segment_record *record)
{
	struct record_header header;
	uint8_t bytes[8];
	int status = read_header(fd, salt, record, &header);
	ssize_t written;

	if (status)
		return status;
	put_u64(bytes, ~header.checksum);
	do
		written = pwrite(fd, bytes, sizeof(bytes), (off_t)record->offset + 40);
	while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	return written == sizeof(bytes) ? 0 : -EIO;
}
