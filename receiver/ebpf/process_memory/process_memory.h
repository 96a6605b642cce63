/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_memory reads profiled processes for what walks of their runtimes need, and for names of
 * frames.
 *
 * A thread of its own opens the memory, and a sandboxed worker reads and understands it
 * (worker/worker.h): objects move and end, so that names are read soon after the sample, and are
 * kept. A process is read for a fifth of the time at most. One whose memory does not answer is read
 * some times more, later and later, and then never again; one of an owner of whom several do not,
 * not for a while.
 *
 * Threads: create, start, stop and destroy from the host's; the rest from any. No lock is held
 * while anything is opened or read.
 */
#pragma once

#include "frame_names.h"

#include <profcol/component.h>

struct process_memory;
struct worker_use;

/* A program of which something is to be found out. */
struct process_look {
	struct process_key key;
	struct owner owner;             /* the asker's: whose time it takes */
	uint64_t number;                /* the asker's, of this look */
	struct runtime_process process; /* without data */
};

/* How a look has ended. */
struct process_looked {
	const struct runtime_found *found; /* NULL: nothing (yet), or it could not be looked at */
	enum runtime_refusal refused;      /* unless ACCEPTED it never will be */
	bool unanswered; /* neither its memory nor the worker that read it gave an answer */
	/* It was not made, for want of room, or since others of its owner do not answer: it is not
	 * to be before; or 0. */
	uint64_t again_ns;
	uint64_t spent_ns;
};

/* The answer to a look that finds no room at @now_ns: it is made again a second later. */
static inline struct process_looked process_looked_crowded(uint64_t now_ns)
{
	return (struct process_looked){ .again_ns = now_ns + 1000000000 };
}

/* What is asked of whoever knows which processes have runtimes. From the thread in here. */
struct process_memory_tables {
	/* What the program of @key has told of runtime number @runtime; false: nothing. */
	bool (*find)(void *context, const struct process_key *key, uint32_t runtime,
		     struct runtime_process *ret);
	/* A look has ended. */
	void (*looked)(void *context, const struct process_look *look,
		       const struct process_looked *looked);
	void *context;
};

/* NULL without memory. @processes is borrowed until destroy. At most @most_bytes of names are kept.
 */
struct process_memory *process_memory_create(const struct profcol_host *host,
					     struct processes *processes, uint32_t worker_uid,
					     size_t most_bytes);
void process_memory_destroy(struct process_memory *memory); /* accepts NULL; stops first */

/* Start the thread; the worker only when there is something to read. */
PROFCOL_MUST_CHECK struct profcol_error *
process_memory_start(struct process_memory *memory, const struct process_memory_tables *tables);
void process_memory_stop(struct process_memory *memory);

/* Have @look taken, and its end told. False: there is no room for it. Takes no lock that is held
 * for long. */
bool process_memory_look(struct process_memory *memory, const struct process_look *look);

/* Ask for the name of @question's frame; process_memory_find() has the answer later. Takes a lock
 * that is held while texts are copied at most. */
void process_memory_ask(struct process_memory *memory, const struct frame_question *question);

/* Wait until what was asked before this call is answered, but for processes that were read too
 * much, at most until @deadline_ns (CLOCK_MONOTONIC). */
void process_memory_settle(struct process_memory *memory, uint64_t deadline_ns);

/*
 * What is known of @question. With FRAME_NAMED, whose text is the caller's to free, it is the name
 * that the frame had if the program ran on until then: after all records of before are known
 * (processes_catch_up) another program's is not taken for it.
 */
enum frame_state process_memory_find(struct process_memory *memory,
				     const struct frame_question *question,
				     struct frame_name **name_ret);

/* Forget programs that nothing was asked of since @time_ns. */
void process_memory_forget(struct process_memory *memory, uint64_t time_ns);

/* Processes that read for it; see worker_pool_use. Any thread. */
void process_memory_workers(const struct process_memory *memory, struct worker_use *use);
