/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the index of a file's functions made: first from what the file has itself, and then, where
 * that is not its own symbol table, from each file that may have its debug information, until one
 * does. What a worker fails on with a debug file costs the file's own names nothing. One thread at
 * a time.
 */
#pragma once

#include "known_files.h"

#include "../processes/processes.h"

struct index_maker {
	struct processes *processes; /* borrowed, as the rest */
	struct known_files *known;
	struct worker_pool *pool;
	struct profcol_list directories;
	uint64_t most_bytes; /* that an index may take */
	struct profcol_metric *made[WORKER_SOURCES], *by_link, *without_tables;
	struct profcol_metric *refused, *given_up;
};

void index_maker_init(struct index_maker *maker, const struct profcol_host *host,
		      struct processes *processes, struct known_files *known,
		      struct worker_pool *pool, const struct profcol_list *directories,
		      uint64_t most_bytes);

/* Open @file, and unlearn it when it has another content than before. The descriptor is the
 * caller's; -EINVAL: it is no regular file; or another negative errno. */
int index_maker_open(struct index_maker *maker, struct known_file *file);
/* Close what was opened of @file, at its owner's expense. Nothing if @fd is negative. */
void index_maker_close(const struct index_maker *maker, const struct known_file *file, int fd);

/* Whose bytes a worker reads that is asked about @file, or about an index of it that has been made
 * with what lies in a root of its own (@own). */
struct origin index_maker_origin(const struct index_maker *maker, const struct known_file *file,
				 bool own);

/* Ask for what @file has itself. 0; -EAGAIN: ask again; -EINVAL: it is no regular file; or another
 * negative errno when it cannot be opened. */
int index_maker_ask(struct index_maker *maker, struct known_file *file);

/* Ask for what the next debug file has. False when there is none any more: then the index that
 * there is holds. */
bool index_maker_ask_debug(struct index_maker *maker, struct known_file *file);

enum index_outcome {
	INDEX_TAKEN,
	INDEX_LATER,    /* no worker could be had, or memory was short */
	INDEX_HOPELESS, /* the file has brought a worker down, cannot be read, or has too many */
};

/* A worker has answered. */
enum index_outcome index_maker_take(struct index_maker *maker, struct known_file *file,
				    const struct worker_answer *answer);

/* What is being made of @file is of no use any more. */
void index_maker_forget(struct known_file *file);

/* Unlearn the files that are named by what lies in a root of their own, where others have them by
 * now. */
void index_maker_check_roots(struct index_maker *maker);
