/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes by number and time (learn.h says how they get here).
 *
 * One number may have had several users; each is a row of its own, told apart by
 * the time it started. Times are CLOCK_MONOTONIC nanoseconds unless they say
 * otherwise. No I/O, no threads: the owner locks.
 */
#pragma once

#include "processes.h"
#include "space.h"

#include <sys/queue.h>

static const uint64_t PROCESS_ALIVE = UINT64_MAX;

struct process {
	struct process *next; /* in its bucket; a later user of the same number stands earlier */
	uint32_t pid;
	uint32_t parent;        /* process number; 0 = unknown */
	uint64_t start_ns;      /* CLOCK_BOOTTIME, from a sample; 0 = unknown */
	uint64_t start_tick_ns; /* CLOCK_BOOTTIME rounded down to a clock tick, from /proc; or 0 */
	uint64_t forked_ns;     /* CLOCK_BOOTTIME of the record of the fork; or 0 */
	uint64_t begin_ns;      /* at the latest */
	uint64_t end_ns;        /* or PROCESS_ALIVE */
	uint64_t last_exit_ns;  /* of one of its threads */
	uint64_t sampled_ns;    /* last; 0 = never */
	bool announced;         /* has told by which key samples will come: see table_announce */
	int32_t threads;
	bool leader_exited;
	bool container_read;         /* else `container` is what the parent had */
	uint64_t container_pause_ns; /* from reading that to looking whether it was moved */
	uint64_t container_again_ns; /* when to do so */
	bool unresolved;             /* stands in table.unresolved */
	bool kin;              /* stands in table.kin, or stood there since its last exec or fork */
	bool crowded;          /* stands in table.crowded */
	bool gives_up;         /* code that it had was found to have gone */
	bool ends_followed;    /* its ends of code are told: table_follow_ends */
	bool changed;          /* stands in table.changed, by `change` */
	bool told;             /* table_take_change has told of a program, not yet of its end */
	uint32_t told_exec_id; /* of that program */
	uint64_t told_until_ns; /* its changes up to then are paid for: TELL_NS for each one told */
	struct text *container; /* a reference; NULL = none */
	struct text *pod;       /* its uid; a reference; NULL = none */
	struct owner owner;     /* as of when it was read; before that, its parent's */
	bool owner_read;        /* it was, of this program, or of the one that it was forked from */
	bool unowned;           /* stands in table.unowned, or stood there since its last exec */
	struct space *space;    /* a reference: the newest */
	TAILQ_ENTRY(process) change;
};

/* Are its files opened and its changes told? */
static inline bool process_is_followed(const struct process *process)
{
	return process->sampled_ns || process->announced;
}

/* Is there a program, and is it known how samples of it call it? */
static inline bool process_runs(const struct process *process)
{
	return process->end_ns == PROCESS_ALIVE && process->space && process->space->exec_id_known;
}

/* What is new of a process that is followed. */
struct process_change {
	struct process_key key;
	bool alive; /* false: the program of @key has ended */
	bool first; /* the program was not told of before */
};

struct table {
	struct space_pool pool;
	struct process **buckets; /* owned */
	size_t bucket_count;
	size_t count;
	size_t max_bytes;            /* of processes and spaces; what is least needed goes first */
	uint64_t tick_ns;            /* a clock tick of /proc */
	uint64_t boot_offset_ns;     /* CLOCK_BOOTTIME - CLOCK_MONOTONIC at present */
	VECTOR(uint32_t) unresolved; /* those followed with mappings whose file has no id yet */
	VECTOR(uint32_t) crowded;    /* those followed that may have less than was told of */
	VECTOR(uint32_t) unowned;    /* those that have forked, of owners that were not read */
	VECTOR(uint32_t) kin;        /* forks that perhaps have their parent's memory */
	TAILQ_HEAD(, process) changed;   /* those followed to tell of, the first marked first */
	size_t told;                     /* processes that are */
	VECTOR(struct process_key) gone; /* of those told and dropped; with room for @told more */
	VECTOR(uint32_t) repeated; /* files mapped again where they were: perhaps written to */
	VECTOR(uint32_t) left;     /* pids whose ends of code need not be told any more */
	size_t ends_followed;      /* those told of; `left` has room for them */
	uint64_t visits;           /* rounds in which all spaces were looked at */
	bool has_remapped;         /* spaces are marked so */
	bool has_refused;          /* mappings have MAPPING_FILE_REFUSED */
	bool has_lost;             /* records were lost since this was last cleared */
	uint64_t lost;             /* records */
	uint64_t evicted;          /* processes */
	uint64_t refused;          /* mappings and processes there was no room for */
	uint64_t paths_refused;    /* mappings that have no path for want of room */
	uint64_t malformed_environments; /* whose OTEL_RESOURCE_ATTRIBUTES was passed over */
	uint64_t claims_refused;         /* attributes in others */
};

/* False without memory. One process takes 5/16 of @max_bytes at most; @max_text_bytes bounds paths
 * and names, which come on top. */
bool table_init(struct table *table, size_t max_bytes, size_t max_text_bytes);
void table_deinit(struct table *table);

/*
 * A sample of @key at @time_ns: mark its process as sampled. Returns it, or NULL when it is
 * unknown and has to be read from /proc.
 */
struct process *table_note(struct table *table, const struct process_key *key, uint64_t time_ns);

/*
 * The program that began with the exec at @time_ns, of which records have told, will be called @key
 * by its samples: it is followed from now on.
 */
void table_announce(struct table *table, const struct process_key *key, uint64_t time_ns);

/* @process is not followed before its next sample, and what was told of it ends: something of it is
 * not known, and one that is never sampled is not worth the knowing. No effect on one sampled. */
void table_unannounce(struct table *table, struct process *process);

/* Whose sample, and the space it had at @time_ns; NULL. */
struct process *table_find(const struct table *table, const struct process_key *key,
			   uint64_t time_ns);
struct space *table_space_at(const struct process *process, uint64_t time_ns);

/*
 * A new user of @pid as of @begin_ns, without a space; NULL without memory. What the
 * table holds of the number's last user ends there.
 */
struct process *table_add(struct table *table, uint32_t pid, uint64_t begin_ns);

/* The latest user of @pid; NULL. */
struct process *table_newest(const struct table *table, uint32_t pid);

/* As processes_origin. */
bool table_find_origin(const struct table *table, uint32_t pid, uint64_t by_ns,
		       struct process_origin *ret);

/* Whatever happened since @since_ns may have been missed: believe nothing newer unread. */
void table_suspect(struct table *table, uint64_t since_ns);

/* @file has been mapped again in the place where it was. Only so many are kept. */
void table_mark_repeated(struct table *table, uint32_t file);

/* One that was marked, which it is no more; false when there is none. */
bool table_take_repeated(struct table *table, uint32_t *file_ret);

/* Mappings of @process, which is followed, have files without an id. */
void table_mark_unresolved(struct table *table, struct process *process);

/* One that was marked, which it is no more; NULL when there is none. */
struct process *table_take_unresolved(struct table *table);

/* Writes to @ret the processes that table_take_unresolved() will return next, in this order, @most
 * at most. Returns how many. */
size_t table_next_unresolved(const struct table *table, struct process **ret, size_t most);

/* @process, which is followed, has been told to map far more than it had when it was read last:
 * perhaps that is not there any more. */
void table_mark_crowded(struct table *table, struct process *process);

/* One that was marked, which it is no more; NULL when there is none. */
struct process *table_take_crowded(struct table *table);

/* The same of all living ones whose ends of code are told, or of all that should have them told and
 * have not: an end may have gone untold. */
void table_suspect_ends(struct table *table, bool followed);

/* From now on the ends of code of @process are told. False without memory. */
bool table_follow_ends(struct table *table, struct process *process);

/* They need not be any more, since it has ended or executes another program. */
void table_leave_ends(struct table *table, struct process *process);

/* The number of a process of which this is so; each is told once. */
bool table_take_left(struct table *table, uint32_t *pid_ret);

/* Is there anything marked that was not taken, or changes that are to be told later? */
static inline bool table_has_work(const struct table *table)
{
	return table->unresolved.count || table->crowded.count || table->kin.count ||
	       table->repeated.count || table->gone.count || !TAILQ_EMPTY(&table->changed);
}

/* @process has not ended, as was believed. */
void table_revive(struct table *table, struct process *process);

/* @process, a fork that is sampled or maps code, may have been made with CLONE_VM. */
void table_mark_kin(struct table *table, struct process *process);

/* One that was marked, and lives; NULL when there is none. */
struct process *table_take_kin(struct table *table);

/* @process was found to have one memory with @parent, whose space is its own from now on. */
void table_share(struct table *table, struct process *process, struct process *parent);

/* There is something to tell of @process, if it is followed, and of those that share its memory,
 * which are looked for when the next thing is taken. */
void table_mark_remapped(struct table *table, struct process *process);

void table_mark_sharers(struct table *table); /* does so */

/* There is something to tell of @process if it is followed. */
void table_mark_changed(struct table *table, struct process *process);

/*
 * The next thing to tell of those marked, and of those dropped; false when there is none at
 * @now_ns. Nothing is told of a program before its exec id is known, but for the end of the last
 * one. The end of one user of a number comes before the next one. Of a program that changes all the
 * time it is told six times a second, but for thirty times that it has in advance: it stays marked
 * until it can be.
 */
bool table_take_change(struct table *table, uint64_t now_ns, struct process_change *ret);

void table_end(struct table *table, struct process *process, uint64_t time_ns);
void table_set_container(struct table *table, struct process *process, const char *id,
			 const char *pod_uid);

/* Drop what ended before @time_ns, and texts nobody uses. */
void table_forget(struct table *table, uint64_t time_ns);

/*
 * When over the budget, or when texts nearly are, drop what is least likely to be asked for of the
 * owner that has most of what is short (shares.h), again and again: first what has ended, the
 * longest ago first, then what was never sampled, then the rest by its last sample. A living
 * process is read from /proc again when it is sampled.
 */
void table_evict(struct table *table);

void table_drop(struct table *table, struct process *process);

/* Forks of @process have its owner, which has not been read yet. */
void table_mark_unowned(struct table *table, struct process *process);

/* One that was marked and lives, and is marked no more; NULL when there is none. */
struct process *table_take_unowned(struct table *table);

size_t table_memory(const struct table *table); /* bytes, without texts */

/* Call @visit for each process; it must not add or drop any. */
void table_each(const struct table *table, void (*visit)(void *context, struct process *process),
		void *context);
