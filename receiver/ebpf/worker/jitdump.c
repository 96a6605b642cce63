// SPDX-License-Identifier: Apache-2.0
#include "code_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	MAGIC = 0x4a695444,     /* "JiTD" in the order of the machine that has written it */
	RECORDS_MOST = 1 << 18, /* that are read */
	LINES_MOST = 1 << 16,   /* of one piece of code */
	PIECE_BYTES = 4096,
};

enum { CODE_LOAD, CODE_MOVE, CODE_LINES };

struct file_head {
	uint32_t magic, version, bytes, machine, reserved, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t kind, bytes; /* with this head */
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t memory, code, code_bytes, number;
	/* Its name, with a NUL, and the code follow. */
};

struct move {
	uint32_t pid, tid;
	uint64_t memory, from, to, code_bytes, number;
};

struct lines {
	uint64_t code, count;
	/* So many follow: address, line and discriminator of 32 bits each, the file's name. */
};

struct line {
	uint64_t address;
	uint32_t line, discriminator;
};

static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
	ssize_t got;

	if (at > INT64_MAX)
		return false;
	do
		got = pread(fd, to, bytes, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)bytes;
}

bool jitdump_is(int fd)
{
	uint32_t magic;

	return read_at(fd, 0, &magic, sizeof(magic)) && magic == MAGIC;
}

/* What is found while the file is read. */
struct search {
	int fd;
	struct code_place *places;
	size_t count;
	struct lines lines; /* those of the code that is loaded next */
	uint64_t lines_at;  /* where they are; 0: none */
};

static void take_load(const struct search *search, uint64_t at, uint64_t bytes)
{
	struct load load;
	size_t i;

	if (bytes <= sizeof(load) || !read_at(search->fd, at, &load, sizeof(load)))
		return;
	i = code_places_from(search->places, search->count, load.code);
	for (; i < search->count && search->places[i].address - load.code < load.code_bytes; i++) {
		struct code_place *place = &search->places[i];
		bool has_lines = search->lines_at && search->lines.code == load.code;

		place->name_at = at + sizeof(load);
		place->name_bytes =
			(uint32_t)(bytes - sizeof(load) < CODE_MAP_NAME ? bytes - sizeof(load)
									: CODE_MAP_NAME - 1);
		place->lines_at = has_lines ? search->lines_at : 0;
		place->lines = has_lines ? search->lines.count : 0;
	}
}

/* What was there is elsewhere: its name goes along with those that look there. */
static void take_move(const struct search *search, uint64_t at, uint64_t bytes)
{
	struct move move;

	if (bytes < sizeof(move) || !read_at(search->fd, at, &move, sizeof(move)))
		return;
	for (size_t i = code_places_from(search->places, search->count, move.to);
	     i < search->count && search->places[i].address - move.to < move.code_bytes; i++) {
		struct code_place *place = &search->places[i];
		uint64_t was = place->address - move.to + move.from;
		size_t from = code_places_from(search->places, search->count, was);

		// Only of code that somebody looks for at both places.
		place->name_at = 0;
		if (from < search->count && search->places[from].address == was) {
			uint64_t address = place->address;

			*place = search->places[from];
			place->address = address;
			place->lines_at = 0;
		}
	}
}

static void take_lines(struct search *search, uint64_t at, uint64_t bytes)
{
	search->lines_at = 0;
	if (bytes >= sizeof(search->lines) &&
	    read_at(search->fd, at, &search->lines, sizeof(search->lines)) &&
	    search->lines.count <= LINES_MOST)
		search->lines_at = at + sizeof(search->lines);
}

/* The line of @place, among those of its code: the last one that begins at or before it. */
static void find_line(const struct search *search, struct code_place *place)
{
	uint8_t bytes[PIECE_BYTES];
	uint64_t at = place->lines_at;
	struct line line;

	for (uint64_t i = 0; i < place->lines; i++) {
		size_t room = sizeof(bytes);
		const uint8_t *end = NULL;

		if (!read_at(search->fd, at, &line, sizeof(line)))
			return;
		if (line.address <= place->address)
			place->line = line.line;
		at += sizeof(line);
		// The file's name, which may be of any length.
		while (!end && room == sizeof(bytes)) {
			ssize_t got = pread(search->fd, bytes, sizeof(bytes), (off_t)at);

			if (got <= 0)
				return;
			room = (size_t)got;
			end = memchr(bytes, '\0', room);
			at += end ? (uint64_t)(end - bytes) + 1 : room;
		}
		if (!end)
			return;
	}
}

/* Names end at their NUL. */
static void cut_name(const struct search *search, struct code_place *place)
{
	char name[CODE_MAP_NAME];
	size_t length = code_place_name(search->fd, place, name);

	place->name_bytes = (uint32_t)strnlen(name, length);
}

static void read_records(struct search *search, uint64_t limit)
{
	struct file_head head;
	struct record_head record;
	uint64_t at;

	if (!read_at(search->fd, 0, &head, sizeof(head)) || head.magic != MAGIC ||
	    head.bytes < sizeof(head))
		return;
	at = head.bytes;
	for (int i = 0; i < RECORDS_MOST && at < limit; i++, at += record.bytes) {
		uint64_t body = at + sizeof(record);

		if (!read_at(search->fd, at, &record, sizeof(record)) ||
		    record.bytes < sizeof(record))
			return;
		if (record.kind == CODE_LOAD)
			take_load(search, body, record.bytes - sizeof(record));
		else if (record.kind == CODE_MOVE)
			take_move(search, body, record.bytes - sizeof(record));
		else if (record.kind == CODE_LINES)
			take_lines(search, body, record.bytes - sizeof(record));
		if (record.kind == CODE_LOAD)
			search->lines_at = 0;
	}
}

void jitdump_find(int fd, struct code_place *places, size_t count)
{
	struct search search = { .fd = fd, .places = places, .count = count };
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0)
		return;
	read_records(&search, (uint64_t)size);
	for (size_t i = 0; i < count; i++) {
		if (!places[i].name_at)
			continue;
		cut_name(&search, &places[i]);
		if (places[i].lines_at)
			find_line(&search, &places[i]);
	}
}
