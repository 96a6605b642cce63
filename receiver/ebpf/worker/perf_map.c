// SPDX-License-Identifier: Apache-2.0
#include "code_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10, NUMBER_DIGITS = 16 };

size_t code_places_from(const struct code_place *places, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t code_place_name(int fd, const struct code_place *place, char *to)
{
	size_t bytes = place->name_bytes < CODE_MAP_NAME ? place->name_bytes : CODE_MAP_NAME - 1;
	ssize_t got;

	do
		got = pread(fd, to, bytes, (off_t)place->name_at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? 0 : (size_t)got;
}

/* A file that is read in pieces. */
struct reader {
	int fd;
	uint64_t at, limit; /* of the next piece; in the file */
	uint64_t begin;     /* of the piece at hand */
	size_t next, count;
	uint8_t bytes[PIECE_BYTES];
};

static bool fill(struct reader *reader)
{
	size_t most = sizeof(reader->bytes);
	ssize_t got;

	if (reader->limit - reader->at < most)
		most = reader->limit - reader->at;
	do
		got = pread(reader->fd, reader->bytes, most, (off_t)reader->at);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	reader->begin = reader->at;
	reader->at += (uint64_t)got;
	reader->next = 0;
	reader->count = (size_t)got;
	return true;
}

/* Where the next byte lies. */
static uint64_t position(const struct reader *reader)
{
	return reader->begin + reader->next;
}

/* The next byte; negative: there is none. */
static int next_byte(struct reader *reader)
{
	if (reader->next == reader->count && !fill(reader))
		return -1;
	return reader->bytes[reader->next++];
}

/* To the byte after the next newline. Returns how many bytes lie before that, or the end. */
static uint64_t skip_line(struct reader *reader)
{
	uint64_t begun = position(reader);

	for (;;) {
		const uint8_t *from = reader->bytes + reader->next, *end;

		if (reader->next == reader->count) {
			if (!fill(reader))
				return position(reader) - begun;
			continue;
		}
		end = memchr(from, '\n', reader->count - reader->next);
		if (end) {
			reader->next += (size_t)(end - from) + 1;
			return position(reader) - begun - 1;
		}
		reader->next = reader->count;
	}
}

static int digit_of(int byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

enum number {
	NUMBER,      /* and a blank */
	NO_NUMBER,   /* within the line */
	END_OF_LINE, /* behind the newline, or at the end of the file */
};

/* A hexadecimal number, with or without 0x, up to the blank behind it. */
static enum number read_number(struct reader *reader, uint64_t *ret)
{
	int digits = 0;
	bool prefixed = false;

	for (*ret = 0;;) {
		int byte = next_byte(reader), digit = digit_of(byte);

		if (byte < 0 || byte == '\n')
			return END_OF_LINE;
		if (byte == ' ' && digits)
			return NUMBER;
		if ((byte == 'x' || byte == 'X') && digits == 1 && !*ret && !prefixed) {
			prefixed = true;
			digits = 0;
			continue;
		}
		if (digit < 0 || digits++ == NUMBER_DIGITS)
			return NO_NUMBER;
		*ret = *ret << 4 | (uint64_t)digit;
	}
}

/* Code that came later takes the place of what was there before. */
static void take_entry(struct code_place *places, size_t count, uint64_t start, uint64_t bytes,
		       uint64_t name_at, uint64_t name_bytes)
{
	for (size_t i = code_places_from(places, count, start);
	     i < count && places[i].address - start < bytes; i++) {
		places[i].name_at = name_at;
		places[i].name_bytes =
			name_bytes < CODE_MAP_NAME ? (uint32_t)name_bytes : CODE_MAP_NAME - 1;
	}
}

/* One line; false: there is no other one. */
static bool read_entry(struct reader *reader, struct code_place *places, size_t count)
{
	uint64_t start, bytes, name_at;
	enum number found = read_number(reader, &start);

	if (found == NUMBER)
		found = read_number(reader, &bytes);
	if (found == NO_NUMBER)
		skip_line(reader);
	if (found == NUMBER) {
		name_at = position(reader);
		take_entry(places, count, start, bytes, name_at, skip_line(reader));
	}
	return reader->next < reader->count || fill(reader);
}

void perf_map_find(int fd, struct code_place *places, size_t count)
{
	static struct reader reader; // 64 KiB; of the worker, which has one thread
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0)
		return;
	reader = (struct reader){ .fd = fd, .limit = (uint64_t)size };
	if (reader.limit > WORKER_MAP_MOST) {
		reader.at = reader.begin = reader.limit - WORKER_MAP_MOST;
		skip_line(&reader);
	}
	while (read_entry(&reader, places, count))
		;
}
