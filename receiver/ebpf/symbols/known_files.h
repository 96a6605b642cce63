/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been learned of files: facts, the index of their functions, and for address ranges that
 * were asked for the function or that there is none. Bounded in bytes; what was not used for
 * longest goes first, but text only in known_files_forget, so that it is valid until then.
 *
 * Threads: one at a time.
 */
#pragma once

#include "known_lines.h"

#include "../processes/processes.h"
#include "../worker/worker.h"

#include "base/base.h"

#include <sys/stat.h>

/* A function as it covers addresses [start, limit). */
struct known_range {
	uint64_t start, limit;
	const char *name; /* owned by the file's arena; NULL: none names it, or nothing is there */
	const char *system_name; /* NULL: equal to name */
	bool unnamed;            /* there is something, which begins at: */
	uint64_t entry;
};

/* What is done about the index of a file. */
enum known_making {
	MAKING_NOTHING,
	MAKING_OWN,   /* a worker makes one of what the file itself has */
	MAKING_DEBUG, /* a worker tries what may be its debug file */
};

/* The index of a file's functions (file_index.h). */
struct known_index {
	int fd; /* owned; -1: there is none */
	uint64_t memory;
	uint64_t used; /* in which round */
	enum worker_source source;
	bool by_link, in_own_root; /* of a debug file: how and where it was found */
	struct process_root root;  /* in_own_root */
	bool has_tables;
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
	struct owner owner; /* as known_file_set_owner has it */
	enum known_state state;
	bool asked;                      /* a request is under way */
	bool outdated;                   /* what comes of it is not to be believed */
	enum known_making making;        /* what it is for */
	int making_fd;                   /* owned: what is being written to; or -1 */
	struct known_index index, maybe; /* the one that holds, and the one that is tried */
	uint64_t made_ns;             /* CLOCK_MONOTONIC, when one was asked for last; 0: never */
	bool debug_wanted;            /* its debug file is to be looked for */
	size_t debug_candidate;       /* the next one */
	char link[WORKER_LINK_BYTES]; /* .gnu_debuglink */
	uint64_t retry_ns;            /* not asked before */
	uint64_t used;                /* in which round */
	uint64_t lap;                 /* as in known_files when it was learned */
	uint64_t content_id;          /* new for every new content; 0: not opened yet */
	struct known_content content;
	struct arena *arena; /* owned; all text and the segments */
	const struct worker_segment *segments;
	size_t segment_count;
	const char *build_id_gnu, *build_id_go, *htlhash; /* "" until known */
	uint32_t lines_by;                 /* the runtime that has lines of it; RUNTIME_NONE */
	uint64_t lines_paused;             /* it is not asked before this round */
	bool asked_lines;                  /* the request that is under way is about them */
	struct known_lines lines;          /* what it was asked for */
	VECTOR(struct known_range) ranges; /* by start, without overlap */
	size_t memory;                     /* as counted last */
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
	struct shares shares, index_shares; /* bytes of files, and of their indexes */
	size_t index_count, index_bytes;    /* of all files */
	size_t own_root_count;              /* files named by what lies in a root of their own */
};

/* All zero is an empty set. */
void known_files_deinit(struct known_files *known);

struct known_file *known_files_find(const struct known_files *known, uint32_t id); /* or NULL */

/* The entry of file @id, made when missing, and marked as used. NULL without memory. */
struct known_file *known_files_get(struct known_files *known, uint32_t id);

/* What is known of @file counts for @owner from now on; OWNER_UNKNOWN before. */
void known_file_set_owner(struct known_files *known, struct known_file *file, struct owner owner);

/* The file open as @stat describes. If it has another content than before, all is unlearned. */
void known_file_meet(struct known_files *known, struct known_file *file, const struct stat *stat);

/* Forget all that was learned of @file, but not what it is called. */
void known_file_unlearn(struct known_files *known, struct known_file *file);

/* @index, whose descriptor is taken, is the one of @file from now on; with fd -1 it has none. */
void known_file_set_index(struct known_files *known, struct known_file *file,
			  const struct known_index *index);

/* Drop indexes that were not used for longest, but none that a request is about, until
 * @budget_bytes and @most hold the rest: those of the largest owner, while one has more than its
 * share. Returns how many. */
size_t known_files_drop_indexes(struct known_files *known, size_t budget_bytes, size_t most);

/* Learn the facts of an answer about the file as it is now. False without memory. */
bool known_file_learn_facts(struct known_files *known, struct known_file *file,
			    const struct worker_answer *answer);

/* Learn from an answer about the file as it is now. False without memory: less is known. */
bool known_file_learn(struct known_files *known, struct known_file *file,
		      const struct worker_answer *answer);

/* Learn from an answer about lines of the file as it is now. False without memory: less is known.
 */
bool known_file_learn_lines(struct known_files *known, struct known_file *file,
			    const struct worker_answer *answer);

/* The range that holds @address, or NULL. */
const struct known_range *known_file_find(const struct known_file *file, uint64_t address);

/* Begin a new round; drop what was not used for longest until @budget_bytes hold the rest, in the
 * same way. Returns how many files were dropped. */
size_t known_files_forget(struct known_files *known, size_t budget_bytes);
