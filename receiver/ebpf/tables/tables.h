/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the kernel side what it walks user stacks by (bpf/unwind_tables.h): for each sampled
 * process its executable memory, and for each file in it the pages of unwind rules that walks came
 * by. The files are read by a worker process (worker/), which a thread of this module talks to.
 *
 * Threads: create, start, stop and destroy from the host's; the rest from any, also before start
 * and after stop. Notes of samples only queue. tables_note_process and tables_touch take a lock
 * that this module's thread holds while it writes to the kernel: mostly for microseconds, but some
 * 15 ms when a slab is made, since the kernel then waits for all walks under way, and longer on a
 * busy machine.
 */
#pragma once

#include "processes/processes.h"

#include <profcol/component.h>

struct sample_head;
struct tables;

/* NULL without memory. All are borrowed until destroy. @limit_bytes bounds the kernel's memory. */
struct tables *tables_create(const struct profcol_host *host, struct processes *processes,
			     uint64_t limit_bytes);
void tables_destroy(struct tables *tables); /* accepts NULL; stops first */

/* Descriptors of the loaded program's maps, borrowed while it runs. */
struct tables_maps {
	int slabs, processes, rules;
};

/* Map the kernel's side, start a worker and the thread. */
PROFCOL_MUST_CHECK struct profcol_error *tables_start(struct tables *tables,
						      const struct tables_maps *maps);
void tables_stop(struct tables *tables);

/* A processes_on_change function; @context is the tables. */
void tables_note_process(void *context, const struct process_key *key, bool alive);

/* What the walk of @head, a checked record (bpf/sample.h), has missed. From one thread at a time;
 * allocates nothing. */
void tables_note_sample(struct tables *tables, const struct sample_head *head);

/* A walk ended at @file_offset of @file, since the rules of that page were missing. False: there is
 * no room for the note, and it is counted. */
bool tables_note_miss(struct tables *tables, uint32_t file, uint64_t file_offset);

/* A sample of @key's program has met @address, which the kernel side does not know yet. As above.
 */
bool tables_note_address(struct tables *tables, const struct process_key *key, uint64_t address);

/* A place in a file that samples of one batch have. */
struct tables_place {
	uint32_t file;
	uint64_t file_offset;
};

/* Their pages are used: others are dropped first when there is no more room. Once a batch. */
void tables_touch(struct tables *tables, const struct tables_place *places, size_t count);

/* Bytes of the kernel's memory that this module has made, the fixed maps not counted. */
uint64_t tables_map_bytes(struct tables *tables);
