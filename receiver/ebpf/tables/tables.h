/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the kernel side what it walks user stacks by (bpf/unwind_tables.h): for each sampled
 * process its executable memory, and for each file in it the pages of unwind rules that walks came
 * by. The files are read by a worker process (worker/), which a thread of this module talks to.
 *
 * Threads: create, start, stop and destroy from the host's; the rest from any, also before start
 * and after stop. Notes of samples only queue. tables_note_process, tables_find_code and
 * tables_touch take a lock that this module's thread holds while it writes to the kernel: mostly
 * for microseconds, but some 15 ms when a slab is made, since the kernel then waits for all walks
 * under way, and longer on a busy machine.
 */
#pragma once

#include "process_memory/process_memory.h"
#include "processes/processes.h"

#include <profcol/component.h>

struct code_file;
struct sample_head;
struct tables;
struct worker_use;
struct unwind_range;
struct unwind_rule;

/* NULL without memory. All are borrowed until destroy. @limit_bytes bounds the kernel's memory,
 * @found_bytes, UNWIND_OBJECT_BYTES at least, what walks in user space keep of its pages. Processes
 * with runtimes are looked at by @memory. */
struct tables *tables_create(const struct profcol_host *host, struct processes *processes,
			     struct process_memory *memory, uint32_t worker_uid,
			     uint64_t limit_bytes, size_t found_bytes);
void tables_destroy(struct tables *tables); /* accepts NULL; stops first */

/*
 * Before the start: keep what workers say of files in @directory (borrowed until destroy), at most
 * @limit_bytes of it, and look there first. False without memory.
 */
bool tables_keep(struct tables *tables, const char *directory, uint64_t limit_bytes);

/* Before the start: programs of the @disabled runtimes, 1 << enum runtime_number each, are like
 * others, in whose memory nobody looks; labels that those of @unlabelled give what they run are not
 * read. */
void tables_disable_runtimes(struct tables *tables, uint32_t disabled, uint32_t unlabelled);

/* Descriptors of the loaded program's maps, borrowed while it runs. */
struct tables_maps {
	int slabs, processes, rules;
	uint32_t buckets;   /* of processes */
	uint32_t slab_lead; /* bytes of a slab before its first line */

	/* Walks of processes with @runtimes, 1 << enum runtime_number each, are done from now on by
	 * the program with this @number, below UNWIND_PROGRAMS. NULL: the sampler does them all.
	 * From one thread at a time, between start and stop. */
	struct profcol_error *(*load_walk)(void *context, uint32_t runtimes, uint32_t number);
	void *context;
};

/* How many buckets the map of processes is to have where tables may take @limit_bytes: a power of
 * two. */
uint32_t tables_process_buckets(uint64_t limit_bytes);

/* Map the kernel's side, start a worker and the thread. */
PROFCOL_MUST_CHECK struct profcol_error *tables_start(struct tables *tables,
						      const struct tables_maps *maps);
void tables_stop(struct tables *tables);

/* What @tables is asked by process_memory: to be given to process_memory_start. */
struct process_memory_tables tables_for_memory(struct tables *tables);

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

/* Executable memory, as a walk needs it. */
struct tables_code {
	uint64_t frame; /* how the address is reported (struct sample_head) */
	uint32_t rule;  /* the 16 bits of its row (bpf/unwind_tables.h) */
};

enum tables_found {
	TABLES_FOUND,
	TABLES_NO_PAGE,    /* not yet: the rules have been asked for, or the file is to be opened */
	TABLES_UNKNOWN,    /* the program is not known (yet) */
	TABLES_NO_CODE,    /* it had no code there */
	TABLES_IN_PROCESS, /* a runtime's: the process alone says how a walk goes on */
};

/*
 * What @address was of the program of @key at @time_ns, which may have ended, and how a walk goes
 * on from there: by the tables of the kernel side. Takes the lock of tables_touch.
 */
enum tables_found tables_find_code(struct tables *tables, const struct process_key *key,
				   uint64_t time_ns, uint64_t address, struct tables_code *ret);

/* A walk by what the kernel side would have gone by. */
struct tables_walk {
	struct tables *tables;
	const struct unwind_range *ranges; /* by address */
	size_t count;
	const struct unwind_range *last; /* of the frame before */
	struct code_file *file;          /* of that range; NULL: not looked for yet */
	uint64_t now_ns;
	bool missed; /* a page was asked for */
};

/*
 * Begin to walk a stack that the program of @key had at @time_ns. False: its code has changed
 * since, or is not known, and tables_find_code has to be asked. True: the lock is held until
 * tables_end_walk, so nothing else of this may be called.
 */
bool tables_begin_walk(struct tables *tables, const struct process_key *key, uint64_t time_ns,
		       struct tables_walk *ret);
enum tables_found tables_walk_find(struct tables_walk *walk, uint64_t address,
				   struct tables_code *ret);
void tables_end_walk(struct tables_walk *walk);

/* The walk of a copied stack of @key's program led out of the copy: they are walked in the kernel
 * from now on. */
void tables_copy_no_more(struct tables *tables, const struct process_key *key);

/* Rule number @number of the table; NULL when there is none. Valid until destroy. */
const struct unwind_rule *tables_rule(const struct tables *tables, uint32_t number);

/* A place in a file that samples of one batch have. */
struct tables_place {
	uint32_t file;
	uint64_t file_offset;
};

/* Their pages are used: others are dropped first when there is no more room. Once a batch. */
void tables_touch(struct tables *tables, const struct tables_place *places, size_t count);

/* Hold no more than this from now on, as far as what runs allows; not above what it was created
 * with. */
void tables_limit(struct tables *tables, uint64_t limit_bytes);

/* Processes that read files for it; see worker_pool_use. Any thread. */
void tables_workers(const struct tables *tables, struct worker_use *use);

/* Bytes of the kernel's memory that this module has made, the fixed maps not counted. */
uint64_t tables_map_bytes(struct tables *tables);
