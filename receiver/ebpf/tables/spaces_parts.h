/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of spaces.h have of each other: spaces.c knows the ranges of each process,
 * spaces_evict.c which of them go for others, spaces_runtimes.c which have runtimes. One thread at
 * a time.
 */
#pragma once

#include "code_copy.h"
#include "range_list.h"
#include "range_sets.h"
#include "spaces.h"
#include "walk_programs.h"

#include "base/base.h"

#include <sys/queue.h>

enum { SPACES_CHAINS = 1024 };

struct space_ranges {
	struct space_ranges *next; /* in its chain */
	struct process_key key;
	struct owner owner;     /* as of when its code was read last */
	struct range_set *set;  /* a use; NULL: the kernel side is not told of it */
	uint64_t told_ns;       /* since when it is told so; CLOCK_MONOTONIC */
	uint32_t copies;        /* the same: which of its stacks may be copied; UNWIND_COPIES */
	uint32_t program;       /* the same: number of the program that walks them */
	uint32_t labels;        /* the same: handle of what says where its labels lie; 0: none */
	bool is_intricate;      /* a copy of its stack was not enough */
	bool waits;             /* for a file of it */
	bool refused;           /* stands in spaces.refused: there was no room for it */
	bool counted;           /* as one that there was no room for */
	bool stale;             /* stands in spaces.stale */
	uint32_t dropped;       /* mappings that did not fit */
	uint64_t ready_ns;      /* not made anew before, but for other mappings */
	uint64_t missed_ns;     /* by a walk, last; or 0 */
	struct pages_use *uses; /* owned; of its files, each once */
	size_t use_count;
	struct attached_list attached; /* owned: its runtimes */
	TAILQ_ENTRY(space_ranges) others_refused, others_stale;
};

TAILQ_HEAD(space_list, space_ranges);

struct spaces {
	struct processes *processes;
	struct pages *pages;
	struct memory *memory;
	struct range_sets *sets; /* owned */
	struct process_index *index;
	struct space_ranges *chains[SPACES_CHAINS]; /* owned; by pid */
	struct space_list refused, stale;
	struct attachments attachments;
	struct walk_programs programs;
	uint32_t disabled; /* runtimes, 1 << enum runtime_number each */
	bool wants_memory; /* there was none for a process */
	bool cut_short;    /* more is due than could be done */
	size_t read;       /* ranges, with PROCESS_RANGES for each process, since this was 0 */
	struct spaces_counts counts;
	/* Of the one being written: */
	struct code_copy code;
	struct range_list list;
	VECTOR(uint32_t) files;
};

/* What is known of the process of @key; NULL: nothing is. */
struct space_ranges *spaces_find(const struct spaces *spaces, const struct process_key *key);

/* When it was sampled last; 0: never. */
uint64_t spaces_last_sample(const struct spaces *spaces, const struct space_ranges *space);

/* Can one that was sampled at @sampled_ns go for another that was at @now_ns? */
bool spaces_can_go(uint64_t sampled_ns, uint64_t now_ns);

/*
 * Who makes place for @space, sampled once at least, among those that it could stand for: the one
 * sampled longest ago, if it does not run, or else that of the owner that has most of them. NULL:
 * nobody.
 */
struct space_ranges *spaces_find_rival(struct spaces *spaces, const struct space_ranges *space);

/* It makes room, and comes back when it is sampled. */
void spaces_evict(struct spaces *spaces, struct space_ranges *space);

/* There is none for some process, or too little is left for owners that have little. */
void spaces_make_memory(struct spaces *spaces, uint64_t now_ns);

/* What the kernel side was told of @space is out of date: it is told anew, now or when its time
 * has come. */
void spaces_tell_again(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns);

/* Tell the kernel side how stacks of @space are walked, by the ranges that it has. */
void spaces_tell_walk(struct spaces *spaces, struct space_ranges *space);

/* The handle of what says where labels of @space lie; 0: it has none. */
uint32_t spaces_find_labels(const struct space_ranges *space);

/* The number of the program that knows the runtimes of @space. */
uint32_t spaces_find_program(struct spaces *spaces, const struct space_ranges *space);

/* @space, whose code was read and whose files are used, may have other runtimes now, or none any
 * more. Where their areas lie is asked by spaces_next_look. */
void spaces_meet_runtimes(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns);

/* It has none any more, or has ended. */
void spaces_forget_runtimes(struct spaces *spaces, struct space_ranges *space);
