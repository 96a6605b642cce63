/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been learned of files: facts, and for address ranges the function or
 * that there is none. Bounded in bytes; files not used for longest go first, but
 * only in known_files_forget, so text is valid until then.
 *
 * Threads: one at a time.
 */
#pragma once

#include "../worker/worker.h"

#include "base/base.h"

#include <sys/stat.h>

/* A function as it covers addresses [start, limit); name NULL: no function there. */
struct known_range {
	uint64_t start, limit;
	const char *name;        /* owned by the file's arena */
	const char *system_name; /* NULL: equal to name */
};

enum known_state {
	KNOWN_NOTHING, /* not asked yet, or nothing came of it */
	KNOWN_FACTS,
	KNOWN_HOPELESS, /* a worker failed on it: never asked again while it stays the same */
};

/* Tells one content of a file from another. */
struct known_content {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
};

struct known_file {
	uint32_t id;
	enum known_state state;
	bool asked;          /* a request is under way */
	uint64_t retry_ns;   /* not asked before */
	uint64_t used;       /* in which round */
	uint64_t lap;        /* as in known_files when it was learned */
	uint64_t content_id; /* new for every new content; 0: not opened yet */
	struct known_content content;
	struct arena *arena; /* owned; all text and the segments */
	const struct worker_segment *segments;
	size_t segment_count;
	const char *build_id_gnu, *build_id_go, *htlhash; /* "" until known */
	VECTOR(struct known_range) ranges;                /* by start, without overlap */
	size_t memory;                                    /* as counted last */
};

struct known_files {
	VECTOR(struct known_file *) files; /* owned */
	struct intern index;               /* file id to place in files */
	VECTOR(struct arena *) retired;    /* owned; text of contents that have been replaced */
	struct known_range *spare;         /* owned; scratch of a merge */
	size_t spare_count;
	uint64_t round;
	uint64_t lap; /* set by the owner: what was learned at another one may be of another file */
	uint64_t last_content_id;
	size_t memory;
};

/* All zero is an empty set. */
void known_files_deinit(struct known_files *known);

struct known_file *known_files_find(const struct known_files *known, uint32_t id); /* or NULL */

/* The entry of file @id, made when missing, and marked as used. NULL without memory. */
struct known_file *known_files_get(struct known_files *known, uint32_t id);

/* The file open as @stat describes. If it has another content than before, all is unlearned. */
void known_file_meet(struct known_files *known, struct known_file *file, const struct stat *stat);

/* Learn from an answer about the file as it is now. False without memory: less is known. */
bool known_file_learn(struct known_files *known, struct known_file *file,
		      const struct worker_answer *answer);

/* The range that holds @address, or NULL. */
const struct known_range *known_file_find(const struct known_file *file, uint64_t address);

/* Begin a new round; drop what was not used for longest until @budget_bytes hold the rest.
 * Returns how many files were dropped. */
size_t known_files_forget(struct known_files *known, size_t budget_bytes);
