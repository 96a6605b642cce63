/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable memory of processes that are followed as the kernel side knows it: sorted ranges
 * for each. One thread at a time.
 */
#pragma once

#include "attached.h"

#include "memory.h"
#include "pages.h"
#include "process_index.h"
#include "process_memory/process_memory.h"

#include "processes/processes.h"

struct spaces;

struct spaces_counts {
	uint64_t processes;         /* known to the kernel side now */
	uint64_t ranges_dropped;    /* mappings that were more than fit of one process */
	uint64_t processes_refused; /* processes there was no room for, at first; each once */
	uint64_t processes_evicted; /* those that have made room for others */
	uint64_t memory;            /* bytes of user space that ranges take now */
	struct attachments_counts runtimes[RUNTIMES]; /* now */
};

/* NULL without memory. All are borrowed until destroy. */
struct spaces *spaces_create(struct processes *processes, struct pages *pages,
			     struct memory *memory, struct process_index *index);
void spaces_destroy(struct spaces *spaces); /* accepts NULL */

/* Before the first update: the @disabled runtimes, 1 << enum runtime_number each, are no runtimes:
 * their programs are like others; labels that those of @unlabelled give what they run are not read.
 */
void spaces_disable_runtimes(struct spaces *spaces, uint32_t disabled, uint32_t unlabelled);

/*
 * The process of @key has other executable memory than before, or is new. Its files are asked for;
 * a new process is told to the kernel side when all of them are known. Where there is no room,
 * those go that were sampled longest ago, or never.
 */
void spaces_update(struct spaces *spaces, const struct process_key *key, uint64_t now_ns);

/* The process of @key has ended. */
void spaces_end(struct spaces *spaces, const struct process_key *key);

/* What is known of @file has changed. Processes with very many mappings are told of several files
 * together, at a later time. */
void spaces_file_known(struct spaces *spaces, uint32_t file, uint64_t now_ns);

/* A walk of @key's process found that the kernel side does not know it: if it has been told and
 * made room for others, it comes back. */
void spaces_miss(struct spaces *spaces, const struct process_key *key, uint64_t now_ns);

/* Do what is due, and try again for those sampled lately that there was no room for: some
 * milliseconds' worth. Once a second, and more often while spaces_waits. */
void spaces_retry(struct spaces *spaces, uint64_t now_ns);
bool spaces_waits(const struct spaces *spaces);

/* Before the first update: processes with runtimes are walked by programs of their own. */
void spaces_walk_apart(struct spaces *spaces);

/* Which of these is to be loaded next: its number, which is 0 when there is none, and the runtimes
 * that it is to know. When it is there, or was refused, processes are told of it. */
uint32_t spaces_next_walk(struct spaces *spaces, uint32_t *runtimes_ret);
void spaces_learn_walk(struct spaces *spaces, uint32_t number, bool ready);

/* When the next process is due that is to be looked at for what a runtime has in it; UINT64_MAX:
 * there is none. */
uint64_t spaces_look_due_ns(const struct spaces *spaces);

/* It; false: none is due. How each of them has ended is learned, as attached_learn says: the
 * process is to be told of again if that is news. */
bool spaces_next_look(struct spaces *spaces, uint64_t now_ns, struct process_look *ret);
void spaces_learn_look(struct spaces *spaces, const struct process_look *look,
		       const struct process_looked *looked, uint64_t now_ns);

/* The key of process number @parent, if it is one that @child, or an ancestor of it, may have been
 * forked from, and whose program it runs still. False: none is known. */
bool spaces_find_parent(const struct spaces *spaces, const struct process_key *child,
			uint32_t parent, struct process_key *ret);

/* What runtime number @runtime has told of @key's program; false: nothing. */
bool spaces_find_runtime(const struct spaces *spaces, const struct process_key *key,
			 uint32_t runtime, struct runtime_process *ret);

/* Is @address of @key's process, which lies in @code, in code of a runtime's? Only the process's
 * own memory says what the frames there look like. */
bool spaces_has_runtime_at(const struct spaces *spaces, const struct process_key *key,
			   const struct process_code *code, uint64_t address);

/*
 * By what the kernel side would have walked a stack of @key's process at @time_ns: *@count_ret
 * ranges by address, valid until the next change. NULL: that is not known any more, or there are
 * too many.
 */
const struct unwind_range *spaces_ranges(const struct spaces *spaces, const struct process_key *key,
					 uint64_t time_ns, size_t *count_ret);

/* A copy of a stack of @key's process did not hold all of it: no more are made. */
void spaces_copy_no_more(struct spaces *spaces, const struct process_key *key);

/* How many mappings of one process are told at most. */
size_t spaces_most(const struct spaces *spaces);

struct spaces_counts spaces_counts(const struct spaces *spaces);
