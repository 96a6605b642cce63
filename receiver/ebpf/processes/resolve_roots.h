/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of resolve.h: the roots of processes whose files are about to be looked for. To ask for one takes
 * a call that may never return (timed_calls.h), which costs several times as much as the answer:
 * those of one owner are asked for together. One thread.
 */
#pragma once

#include "files.h"
#include "table.h"

struct resolve_roots {
	struct owner owner;
	size_t count;
	size_t looked_at; /* processes, of which some need no root */
	struct {
		uint32_t pid;
		uint64_t begin_ns; /* tells users of the pid apart */
	} processes[PROCESS_ROOTS_AT_ONCE];
	struct process_root_question questions[PROCESS_ROOTS_AT_ONCE]; /* about these */
};

/* Through whose roots files of @process are looked for: its own, while it lives, then those of
 * living ancestors that may be its owner's cost. */
void resolve_root_pids(const struct table *table, const struct process *process,
		       struct process_root_question *ret);

/* Ask for that of @process, too. False: there are enough, or it is another owner's. The table is
 * locked. */
bool resolve_roots_add(struct resolve_roots *roots, const struct table *table,
		       const struct process *process);

/* Ask for them, without any lock. */
void resolve_roots_ask(struct resolve_roots *roots, struct files *files);

/* Give @ret the answer about the user of @pid since @begin_ns. False: there is none, since it was
 * not asked for, or somebody let us wait. */
bool resolve_roots_find(const struct resolve_roots *roots, uint32_t pid, uint64_t begin_ns,
			struct process_root_question *ret);
