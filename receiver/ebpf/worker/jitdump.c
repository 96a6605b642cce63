// SPDX-License-Identifier: Apache-2.0
#include "code_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	MAGIC = 0x4a695444,     /* "JiTD" in the order of the machine that has written it */
	RECORDS_MOST = 1 << 18, /* that are read */
	LINES_MOST = 1 << 16,   /* of one piece of code */
	/* Lines that are read, and places that are given names: pieces of code may lie over each
	 * other, each with as many. */
	STEPS_MOST = 1 << 22,
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
	uint64_t steps;     /* so far */
};

static void take_load(struct search *search, uint64_t at, uint64_t bytes)
{
	struct load load;
	size_t i;

	if (bytes <= sizeof(load) || !read_at(search->fd, at, &load, sizeof(load)))
		return;
	i = code_places_from(search->places, search->count, load.code);
	for (; i < search->count && search->places[i].address - load.code < load.code_bytes; i++) {
		struct code_place *place = &search->places[i];
		bool has_lines = search->lines_at && search->lines.code == load.code;

		search->steps++;
		place->name_at = at + sizeof(load);
		place->name_bytes =
			(uint32_t)(bytes - sizeof(load) < CODE_MAP_NAME ? bytes - sizeof(load)
									: CODE_MAP_NAME - 1);
		place->lines_at = has_lines ? search->lines_at : 0;
		place->lines = has_lines ? search->lines.count : 0;
	}
}

/* What was there is elsewhere: its name goes along with those that look there. */
static void take_move(struct search *search, uint64_t at, uint64_t bytes)
{
	struct move move;

	if (bytes < sizeof(move) || !read_at(search->fd, at, &move, sizeof(move)))
		return;
	for (size_t i = code_places_from(search->places, search->count, move.to);
	     i < search->count && search->places[i].address - move.to < move.code_bytes; i++) {
		struct code_place *place = &search->places[i];
		uint64_t was = place->address - move.to + move.from;
		size_t from = code_places_from(search->places, search->count, was);

		search->steps++;
		// Only of code that somebody looks for at both places.
		place->name_at = place->lines_at = 0;
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

/* A reader of the file from @at on, a piece at a time, as far as the search's steps allow. */
struct pieces {
	struct search *search;
	uint64_t at; /* behind what is here */
	size_t taken, there;
	uint8_t bytes[PIECE_BYTES];
};

/* False at the end. */
static bool pieces_fill(struct pieces *pieces)
{
	struct search *search = pieces->search;
	ssize_t got = 0;

	// A name may be as long as the file.
	search->steps += sizeof(pieces->bytes) / sizeof(struct line);
	if (search->steps < STEPS_MOST)
		got = pread(search->fd, pieces->bytes, sizeof(pieces->bytes), (off_t)pieces->at);
	pieces->taken = 0;
	pieces->there = got > 0 ? (size_t)got : 0;
	pieces->at += pieces->there;
	return got > 0;
}

static bool pieces_read(struct pieces *pieces, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		size_t left = pieces->there - pieces->taken;
		size_t part = left < bytes - done ? left : bytes - done;

		if (!part && !pieces_fill(pieces))
			return false;
		memcpy((uint8_t *)to + done, pieces->bytes + pieces->taken, part);
		pieces->taken += part;
		done += part;
	}
	return true;
}

/* Past the next NUL, which may be anywhere. */
static bool pieces_skip_text(struct pieces *pieces)
{
	for (;;) {
		const uint8_t *from = pieces->bytes + pieces->taken;
		size_t left = pieces->there - pieces->taken;
		const uint8_t *end = left ? memchr(from, '\0', left) : NULL;

		if (end) {
			pieces->taken += (size_t)(end - from) + 1;
			return true;
		}
		if (!pieces_fill(pieces))
			return false;
	}
}

/* Each of @places has the line, of those given so far, that came last and begins at or before it.
 */
static void spread_lines(struct code_place *places, size_t count)
{
	uint64_t newest = 0;
	uint32_t line = 0;

	for (size_t i = 0; i < count; i++) {
		if (places[i].lines > newest) {
			newest = places[i].lines;
			line = places[i].line;
		}
		places[i].line = line;
	}
}

/* The lines of @places, which are all those of one piece of code: the last one that begins at or
 * before each. */
static void find_lines(struct search *search, struct code_place *places, size_t count)
{
	struct pieces pieces = { .search = search, .at = places->lines_at };
	uint64_t lines = places->lines;
	struct line line;

	if (pieces.at > INT64_MAX)
		return;
	// From here on `lines` is the number of the line that begins there.
	for (size_t i = 0; i < count; i++)
		places[i].lines = 0;
	for (uint64_t i = 1; i <= lines && search->steps < STEPS_MOST; i++, search->steps++) {
		size_t at;

		if (!pieces_read(&pieces, &line, sizeof(line)))
			break;
		at = code_places_from(places, count, line.address);
		if (at < count) {
			places[at].lines = i;
			places[at].line = line.line;
		}
		// The file's name, which may be of any length.
		if (!pieces_skip_text(&pieces))
			break;
	}
	spread_lines(places, count);
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
	for (int i = 0; i < RECORDS_MOST && at < limit && search->steps < STEPS_MOST;
	     i++, at += record.bytes) {
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
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && places[next].lines_at == places[i].lines_at;)
			next++;
		if (places[i].lines_at)
			find_lines(&search, &places[i], next - i);
	}
	for (size_t i = 0; i < count; i++)
		if (places[i].name_at)
			cut_name(&search, &places[i]);
}
