/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings one address space has had, each with its time.
 *
 * The kernel tells of mappings that appear, not of those that go: a mapping holds
 * until a later one covers it. What is covered is kept with the time it ended
 * until nobody can ask for that time any more. Mappings may be added in any order
 * of their times; the result is the same.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. One thread at a time.
 */
#pragma once

#include "texts.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* What vm.max_map_count lets a process have by default. */
	MAPPINGS_MAX = 65536,
	/* A process that maps code over and over must not grow without bound between two sweeps. */
	MAPPINGS_PAST_MAX = 4096,
};

/* Values of mapping.file besides file ids (files.h); PROCESS_NO_FILE is the other. */
enum { MAPPING_FILE_UNRESOLVED = UINT32_MAX - 1 };

struct mapping {
	uint64_t start, limit; /* limit exclusive */
	uint64_t file_offset;  /* of start, bytes */
	uint64_t begin_ns;
	uint64_t again_ns;      /* told again, the last time; or 0 */
	uint64_t device, inode; /* as maps prints them; inode 0 = no file */
	struct text *path;      /* a reference */
	uint32_t file;
};

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
	VECTOR(struct mapping) now;       /* disjoint, by start */
	VECTOR(struct past_mapping) past; /* in the order they were covered */
	uint64_t changes;                 /* mappings that said something new */
};

void mappings_deinit(struct mappings *mappings, struct texts *texts);

/*
 * @mapping appeared at its begin_ns. Its path stays the caller's. One that says
 * nothing new is passed over. -ENOMEM, or -ENOSPC past MAPPINGS_MAX; the mappings
 * are then unchanged.
 */
int mappings_add(struct mappings *mappings, struct texts *texts, const struct mapping *mapping);

/* The one that held @address at @time_ns, valid until the next change; NULL. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t time_ns,
				    uint64_t address);

/* Drop what was covered at @time_ns or before. */
void mappings_forget(struct mappings *mappings, struct texts *texts, uint64_t time_ns);

size_t mappings_memory(const struct mappings *mappings); /* bytes */
