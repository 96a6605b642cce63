/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files whose code processes run, each with the pages of its text that the kernel side has: a
 * directory, and rules of 64 KiB each, brought in when a walk has missed them and dropped when they
 * have not been seen in samples for longest.
 *
 * Says what to ask a worker (pages_next_request) and learns from what it answers; asks nobody. One
 * thread at a time.
 */
#pragma once

#include "memory.h"
#include "rule_table.h"

#include "worker/worker.h"

#include <sys/queue.h>

struct code_file;
struct code_runtime;
struct pages;

/* Who uses a file. */
struct pages_use {
	LIST_ENTRY(pages_use) others; /* of the same file */
	void *owner;
	uint32_t file;
	bool has_runtimes; /* pages_runtimes says more of the file, if it is known by now */
};

struct pages_counts {
	uint64_t files, pages;   /* now */
	uint64_t memory;         /* bytes of user space that all of this takes now */
	uint64_t built, evicted; /* pages, since create */
	uint64_t refused;        /* pages and directories there was no room for */
	uint64_t yielded;        /* times a file had to let go of its rules for other owners */
	uint64_t failed;         /* pages whose rules could not be had */
	uint64_t files_given_up; /* files that no worker could read */
	uint64_t rules_refused;  /* rows whose rule there was no room for */
	uint64_t unsupported[UNWIND_UNSUPPORTED_COUNT]; /* rows with such a rule, by why */
};

/* Both are borrowed until destroy. @found_bytes bounds what pages_find_rule and pages_find_in_range
 * keep, UNWIND_OBJECT_BYTES at least. NULL without memory. */
struct pages *pages_create(struct memory *memory, struct rule_table *rules, size_t found_bytes);
void pages_destroy(struct pages *pages); /* accepts NULL */

/* @owner_of tells whose a file is; without it nobody knows. @context is borrowed until destroy. */
void pages_ask_owners(struct pages *pages, struct owner (*owner_of)(void *context, uint32_t file),
		      void *context);

enum pages_state {
	PAGES_PENDING,   /* nothing is known of the file yet: a request waits, or is under way */
	PAGES_HAS_TABLE, /* a range of it leads to pages */
	PAGES_BARE,      /* there is no table to be had: frame pointers */
};

/* What is known of @use->file, which is in use from now on; it is asked for when it is new. */
enum pages_state pages_use(struct pages *pages, struct pages_use *use);
void pages_release(struct pages *pages, struct pages_use *use);

/* The ELF address of the first page of @file's text, from which on walks count (unwind_tables.h);
 * false: the file is not known. */
bool pages_text(const struct pages *pages, uint32_t file, uint64_t *address_ret);

/* The runtimes whose file @file is, *@count_ret of them, valid until anything is learned or
 * forgotten. */
const struct code_runtime *pages_runtimes(const struct pages *pages, uint32_t file,
					  size_t *count_ret);

/* The ELF address of what lies at @file_offset of @file's code; false: unknown. */
bool pages_address(const struct pages *pages, uint32_t file, uint64_t file_offset,
		   uint64_t *address_ret);

/* Has code that changes stacks been found in @file? */
bool pages_switches_stacks(const struct pages *pages, uint32_t file);

/* The first who uses @file, followed by `others`; NULL. */
struct pages_use *pages_users(const struct pages *pages, uint32_t file);
enum pages_state pages_state(const struct pages *pages, uint32_t file);

/* Files have ids of `processes`; this one is the kernel's, read by ourselves. */
enum { PAGES_VDSO = UINT32_MAX - 2 };
void pages_learn_vdso(struct pages *pages);

/*
 * Complete @range, which begins at @file_offset of @file: kind, directory, first, page. It
 * is made shorter where the file's directory ends.
 */
void pages_place(const struct pages *pages, uint32_t file, uint64_t file_offset,
		 struct unwind_range *range);

/*
 * A sample has met code at @file_offset, and found no rules. They are asked for as soon as that
 * can be: when it is known what the file is, when there may be room again. False when nothing at
 * all is known of the file.
 */
bool pages_miss(struct pages *pages, uint32_t file, uint64_t file_offset, uint64_t now_ns);

enum pages_found {
	PAGES_FOUND,
	PAGES_LATER, /* it has been asked for */
	PAGES_NONE,  /* there is no table: frame pointers */
};

/* The 16 bits of the row (bpf/unwind_tables.h) at @file_offset of @file, which nobody needs to run
 * any more. */
enum pages_found pages_find_rule(struct pages *pages, uint32_t file, uint64_t file_offset,
				 uint64_t now_ns, uint32_t *ret);

/* The same at @address, which lies in @range, one with a table (pages_place); PAGES_LATER, too,
 * when the range does not lead there yet. *@file is NULL at first, and may be kept for others of
 * that range until anything is learned or forgotten. */
enum pages_found pages_find_in_range(struct pages *pages, const struct unwind_range *range,
				     struct code_file **file, uint64_t address, uint64_t now_ns,
				     uint32_t *ret);

/* A batch has a frame at @file_offset. */
void pages_touch(struct pages *pages, uint32_t file, uint64_t file_offset, uint64_t now_ns);
void pages_next_epoch(struct pages *pages); /* what is touched from now on is newer */

/* pages_request.group of a file that comes whole, and of what says what a file is. */
enum { PAGES_WHOLE = UINT32_MAX };

struct pages_request {
	uint32_t file;
	uint32_t group;                     /* number of its first page; with pages_ask_by_group */
	uint32_t numbers[WORKER_MAX_PAGES]; /* ascending; none: what the file is */
	size_t count;
};

/* From now on requests are of one group of pages each: what is kept of it is found by that. */
void pages_ask_by_group(struct pages *pages);

bool pages_wants(const struct pages *pages); /* is there something to ask, or under way? */

/* What to ask next, of the files of which @may_ask (NULL: of all) says so; it counts as under way
 * then. False: nothing. */
bool pages_next_request(struct pages *pages, bool (*may_ask)(void *context, uint32_t file),
			void *context, struct pages_request *ret);

/* The request could not be made, for want of a worker or of memory: it waits for pages_retry. */
void pages_forget_request(struct pages *pages, uint32_t file, uint64_t now_ns);

/* True when processes that run the file have to be told again: it was pending, or
 * turned out to have code that changes stacks. */
bool pages_learn(struct pages *pages, const struct worker_answer *answer, uint64_t now_ns);

/* What came to nothing is queued again when its time has come. Once a second, and more often while
 * pages_waits. */
void pages_retry(struct pages *pages, uint64_t now_ns);
bool pages_waits(const struct pages *pages); /* for its time, for room, or to forget more */

/*
 * Drop what was not seen for longest, until three quarters of @limit_bytes hold the rest; more when
 * something was refused since. That is first what nobody has seen for a minute, or so, then what
 * the largest owner has. Of this also what was seen lately goes, and rules do, where small owners
 * have used up what is kept for them.
 */
void pages_evict(struct pages *pages, uint64_t limit_bytes);

/*
 * Nobody will ask any more for the files that are not @is_known to the one who gives them their
 * ids, nor run them: what is held of these goes. True when some are left for another time: those
 * that are used still, and what would take too long at once.
 */
bool pages_forget(struct pages *pages, bool (*is_known)(void *context, uint32_t file),
		  void *context);

/* Ids that were of files which were forgotten before may be given to others soon. */
void pages_renumber(struct pages *pages);

struct pages_counts pages_counts(const struct pages *pages);
