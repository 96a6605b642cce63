/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable memory of processes that are followed as the kernel side knows it: sorted ranges
 * for each. One thread at a time.
 */
#pragma once

#include "memory.h"
#include "pages.h"
#include "process_index.h"

#include "processes/processes.h"

struct spaces;

struct spaces_counts {
	uint64_t processes;         /* known to the kernel side now */
	uint64_t ranges_dropped;    /* mappings that were more than fit of one process */
	uint64_t processes_refused; /* processes there was no room for, at first; each once */
	uint64_t processes_evicted; /* those that have made room for others */
};

/* NULL without memory. All are borrowed until destroy. */
struct spaces *spaces_create(struct processes *processes, struct pages *pages,
			     struct memory *memory, struct process_index *index);
void spaces_destroy(struct spaces *spaces); /* accepts NULL */

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

/* How many mappings of one process are told at most. */
size_t spaces_most(const struct spaces *spaces);

struct spaces_counts spaces_counts(const struct spaces *spaces);
