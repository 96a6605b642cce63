/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings one address space has had, each with its time.
 *
 * A mapping holds until a later one covers it, or until it is known to have gone (code_ends.h).
 * What is covered or gone is kept with the time it ended
 * until nobody can ask for that time any more. Mappings may be added in any order
 * of their times; the result is the same.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. One thread at a time.
 */
#pragma once

#include "files.h"
#include "processes.h"
#include "texts.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that maps code over and over must not grow without bound between two sweeps. */
enum { MAPPINGS_PAST_MAX = 4096 };

/* Values of mapping.file besides file ids (files.h) and PROCESS_NO_FILE. */
enum {
	MAPPING_FILE_UNRESOLVED = UINT32_MAX - 1,
	MAPPING_FILE_REFUSED = FILES_REFUSED, /* none for now */
};

struct mapping {
	uint64_t start, limit; /* limit exclusive */
	uint64_t file_offset;  /* of start, bytes */
	uint64_t begin_ns;
	uint64_t again_ns;      /* told again, the last time; or 0 */
	uint64_t device, inode; /* as maps prints them; inode 0 = no file */
	struct text *path;      /* a reference */
	uint32_t file;
};

/* Its id, or PROCESS_NO_FILE. */
static inline uint32_t mapping_file(const struct mapping *mapping)
{
	return mapping->file < MAPPING_FILE_REFUSED ? mapping->file : PROCESS_NO_FILE;
}

struct past_mapping {
	struct mapping mapping;
	uint64_t end_ns;
};

/* Was it there at @time_ns? */
static inline bool past_mapping_held(const struct past_mapping *past, uint64_t time_ns)
{
	return past->mapping.begin_ns <= time_ns && past->end_ns > time_ns;
}

struct mappings {
	struct {
		struct mapping *items; /* disjoint, by start */
		size_t count;
		/* Owned: items is a part of it, with room at both ends, since the kernel mostly
		 * puts a mapping below those there are. */
		struct mapping *memory;
		size_t capacity;
	} now;
	VECTOR(struct past_mapping) past; /* in the order they were covered */
	uint64_t changes;                 /* mappings that said something new, and ends */
	uint64_t repeats;                 /* mappings told again, later than before */
	uint64_t ended_ns;                /* when one ended last; 0 = none has */
};

void mappings_deinit(struct mappings *mappings, struct texts *texts);

/*
 * @mapping appeared at its begin_ns. Its path stays the caller's. One that says
 * nothing new is passed over. -ENOMEM: the mappings are then unchanged. -ENOSPC when there
 * would be more than @most: then what it has replaced has ended.
 */
int mappings_add(struct mappings *mappings, struct texts *texts, const struct mapping *mapping,
		 size_t most);

/*
 * What lies in [@start, @limit) has ended at @time_ns, but for mappings that have begun, or were
 * told again, since. 0 or -ENOMEM; the mappings are then unchanged.
 */
int mappings_end(struct mappings *mappings, struct texts *texts, uint64_t start, uint64_t limit,
		 uint64_t time_ns);

/* Does any mapping that there is now overlap [@start, @limit)? */
bool mappings_overlap(const struct mappings *mappings, uint64_t start, uint64_t limit);

/* The one that held @address at @time_ns, valid until the next change; NULL. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t time_ns,
				    uint64_t address);

/* From @time_ns on @file has another content, and its mappings a file that is not known yet.
 * Returns how many there are. */
size_t mappings_renew(struct mappings *mappings, struct texts *texts, uint32_t file,
		      uint64_t time_ns);

/* Drop what was covered at @time_ns or before. */
void mappings_forget(struct mappings *mappings, struct texts *texts, uint64_t time_ns);

size_t mappings_memory(const struct mappings *mappings); /* bytes */
