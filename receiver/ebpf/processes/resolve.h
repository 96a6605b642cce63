/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the mappings of sampled processes to files, and back to processes that have a
 * file mapped. The table's lock is taken for looking only, never while a file is opened.
 */
#pragma once

#include "files.h"
#include "read_time.h"
#include "table.h"

#include <pthread.h>

/* Give ids to the files of all processes that table_take_unresolved() tells of, but of those owners
 * that have no @time left (NULL: all have): of these it will tell again. True: it was @until_ns
 * (CLOCK_MONOTONIC) before that was done. One thread. */
bool resolve_files(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		   struct read_time *time, uint64_t until_ns);

/* Have files that were written to while they are mapped looked for anew, from now on: a process
 * runs what is in them. */
void resolve_changed(struct table *table, pthread_mutex_t *table_lock, struct files *files);

/* The same at once for files that have been mapped again where they were, as of that time. */
void resolve_repeated(struct table *table, pthread_mutex_t *table_lock, struct files *files);

/* Let go of files that nobody needs and that keep a mount busy: files_let_go(). Of those that are
 * needed and not held, look in their owners' @time whether they have been written to, as
 * resolve_changed() does of the others. */
void resolve_let_go(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		    struct read_time *time);

/* Open @file again by a process that has it mapped, or by its path, each within @limit_ns. 0 or a
 * negative errno. */
int resolve_again(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		  uint32_t file, uint64_t limit_ns);

/* Living ancestors of @process, the nearest first: they mostly share its mount namespace. They are
 * the table's, for as long as it is locked. */
enum { RESOLVE_ANCESTORS = 3 };
size_t resolve_ancestors(const struct table *table, const struct process *process,
			 const struct process *ret[RESOLVE_ANCESTORS]);
