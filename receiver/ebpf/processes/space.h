/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address space: what a process has mapped from one exec (or fork) to the next.
 *
 * A forked child starts as a reference to the parent's space as of the time of the
 * fork, so a fork costs no copy. Reference counted. Times are CLOCK_MONOTONIC
 * nanoseconds. One thread at a time.
 */
#pragma once

#include "mappings.h"
#include "processes.h"

/* Where spaces keep their texts, and the account of their memory. */
struct space_pool {
	struct texts texts;
	size_t memory;        /* bytes of all spaces, without texts */
	size_t excess;        /* bytes of what each has beyond its sure share */
	size_t max_bytes;     /* of all spaces */
	size_t most_mappings; /* of one space, when no other is large */
};

/*
 * Lookups walk the references, so their chain is bounded: a process that is forked
 * from a fork of a fork, each with mappings of its own, gets a copy.
 */
enum { SPACE_DEEPEST = 8 };

struct space {
	uint32_t references;
	uint32_t depth;           /* of references to parents; at most SPACE_DEEPEST */
	uint64_t begin_ns;        /* of the exec or the fork; 0 = before we looked */
	struct space *older;      /* owned: of the same process, before the exec */
	struct space *parent;     /* a reference; NULL */
	uint64_t parent_ns;       /* what of the parent's counts: up to this time */
	uint64_t covered_ns;      /* when something of the parent's was covered last; or 0 */
	uint32_t children;        /* spaces that refer to this one, and... */
	uint64_t oldest_child_ns; /* ...the least time they do so at */
	uint32_t sharers;         /* processes besides one that have this memory, or had */
	uint64_t visited;         /* the last round in which it was: table.visits */
	bool remapped;            /* what is shared has changed: table_mark_remapped */
	struct mappings mappings;
	struct text *executable; /* NULL = the parent's, or else the first file mapped */
	bool executable_read;    /* the system has been asked for it */
	bool environment_read;   /* the same */
	struct text *attributes; /* as environment_attributes.bytes; a reference; NULL = none */
	size_t read_count;       /* of its own mappings when they were read from /proc last; or 0 */
	uint64_t reread_ns;      /* not to be read again before: it takes long, or there was no room
				    for all; or 0 */
	uint64_t read_paid_ns;   /* by then its readings are few enough; or 0 */
	size_t path_bytes;       /* of paths that came with its mappings, about */
	bool complete;           /* all mappings are known... */
	uint64_t suspect_ns;     /* ...or else those up to this time */
	bool executed;           /* begun by an exec, not by a fork or before we looked */
	bool exec_id_known;
	bool exec_id_told; /* by the exec itself; one that a sample brought may be the last one's */
	uint32_t exec_id;
	char comm[16];
};

void space_pool_init(struct space_pool *pool, size_t max_bytes, size_t max_text_bytes);
void space_pool_deinit(struct space_pool *pool); /* when no space is left */

/* NULL without memory. */
struct space *space_create(struct space_pool *pool, uint64_t begin_ns);
struct space *space_fork(struct space_pool *pool, struct space *parent, uint64_t time_ns);
void space_unref(struct space_pool *pool, struct space *space); /* accepts NULL */

/*
 * As mappings_add; a failure leaves the space incomplete. A space may take a sixteenth of the
 * memory there may be in any case, and beyond that as much as is left of half of it: so those with
 * a great many mappings leave room for all others, and do not drive each other out, only to be read
 * anew.
 */
int space_add(struct space_pool *pool, struct space *space, const struct mapping *mapping);

/* As mappings_renew, of all that @space shows. False: it shows nothing of @file. */
bool space_renew(struct space_pool *pool, struct space *space, uint32_t file, uint64_t time_ns);

/*
 * What @space shows in [@start, @limit) has ended at @time_ns, as mappings_end says; what it had
 * from its parents becomes its own for that. A failure leaves it incomplete.
 */
int space_end(struct space_pool *pool, struct space *space, uint64_t start, uint64_t limit,
	      uint64_t time_ns);

const struct mapping *space_find(const struct space *space, uint64_t time_ns, uint64_t address);

/* When something that @space shows was unmapped or covered last; 0 = never. */
uint64_t space_ended_ns(const struct space *space);

/* Did @space show the code of @place before @time_ns, and nowhere at that time? */
bool space_has_lost(const struct space *space, uint64_t time_ns, struct process_place *place);

/* The path the program was started by, lent out (texts.h), "" when unknown. */
const char *space_executable(const struct space *space);
void space_set_executable(struct space_pool *pool, struct space *space, const char *path,
			  size_t length);

void space_set_attributes(struct space_pool *pool, struct space *space, const char *bytes,
			  size_t length);

/* A reference to @path for a mapping of @space. When it has had its share of the memory, or there
 * is none, that is the empty text and *@left_out is set. NULL when not even that is there. */
struct text *space_take_path(struct space_pool *pool, struct space *space, const char *path,
			     size_t length, bool *left_out);

/* Drop what was covered before @time_ns and no child can see. */
void space_forget(struct space_pool *pool, struct space *space, uint64_t time_ns);
