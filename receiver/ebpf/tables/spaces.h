/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable memory of sampled processes as the kernel side knows it: sorted ranges for each.
 * One thread at a time.
 */
#pragma once

#include "memory.h"
#include "pages.h"
#include "process_index.h"

#include "processes/processes.h"

struct spaces;

struct spaces_counts {
	uint64_t processes;         /* known to the kernel side now */
	uint64_t ranges_dropped;    /* there were more in a process than fit */
	uint64_t processes_refused; /* there was no room for */
};

/* NULL without memory. All are borrowed until destroy. */
struct spaces *spaces_create(struct processes *processes, struct pages *pages,
			     struct memory *memory, struct process_index *index);
void spaces_destroy(struct spaces *spaces); /* accepts NULL */

/*
 * The process of @key has other executable memory than before, or is new. Its files are asked for;
 * a new process is told to the kernel side when all of them are known.
 */
void spaces_update(struct spaces *spaces, const struct process_key *key, uint64_t now_ns);

/* The process of @key has ended. */
void spaces_end(struct spaces *spaces, const struct process_key *key, uint64_t now_ns);

/* @file is pending no more. */
void spaces_file_known(struct spaces *spaces, uint32_t file, uint64_t now_ns);

struct spaces_counts spaces_counts(const struct spaces *spaces);
