/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of pages.h have of each other: pages.c knows what is missing, pages_learn.c takes
 * in what was answered, pages_evict.c lets go. One thread at a time.
 */
#pragma once

#include "code_files.h"
#include "found_rules.h"
#include "page_layout.h"
#include "pages.h"

/* What there is no room for, or no worker, is not asked for again at once: what was dropped for it
 * is free by then. */
enum { PAGES_RETRY_NS = 500000000 };

struct pages {
	struct memory *memory;                                  /* borrowed */
	struct rule_table *rules;                               /* borrowed */
	struct owner (*owner_of)(void *context, uint32_t file); /* or NULL */
	void *owner_context;
	struct code_files files;
	struct code_file *vdso; /* owned */
	VECTOR(uint32_t) queue; /* files to ask for */
	struct shares asked;    /* requests of late, by who pays */
	uint32_t bare_page;     /* handle of one that has no rules */
	uint32_t epoch;
	bool by_group;   /* requests are of one group of pages */
	bool wants_room; /* something was refused since the last eviction */
	bool waits;      /* something is to be asked for at a later time */
	bool forgets;    /* there are more files to forget than were at once */
	struct pages_counts counts;
	uint64_t taken_back; /* rules, as `found` knows */
	struct found_rules found;
	uint32_t rows[PAGE_MAX_ROWS];      /* of a page that is being written */
	uint8_t refused[UNWIND_RULES / 8]; /* of that: which of the answer's rules had no room */
	uint8_t page[UNWIND_OBJECT_BYTES]; /* that one */
};

struct code_file *pages_find_file(const struct pages *pages, uint32_t file); /* NULL: unknown */

/* What is wanted of @file is asked for now, or when its time has come. */
void pages_want(struct pages *pages, struct code_file *file, uint64_t now_ns);

/* What was asked of @file is wanted still. */
void pages_want_again(struct pages *pages, struct code_file *file, uint64_t now_ns);

/* Miss what was missed of @file before it was known. */
void pages_miss_remembered(struct pages *pages, struct code_file *file, uint64_t now_ns);

/* Lead to @handle at page @index of @file. False: the kernel's side is as it was. */
bool pages_set_entry(struct pages *pages, struct code_file *file, uint32_t index, uint32_t handle);

/* The object @handle, of a page of @file, is not led to any more. 0 is nothing. */
void pages_free(struct pages *pages, struct code_file *file, uint32_t handle, size_t length);

/* Page @index of @file, which is there, goes, if the kernel's side can be written. */
void pages_drop_page(struct pages *pages, struct code_file *file, uint32_t index);

/* Find out whose @file is now: what it has counts for that owner. */
void pages_learn_owner(struct pages *pages, struct code_file *file);

/* Nobody runs @file any more, and none of it is left: as if it had never been. */
void pages_drop_file(struct pages *pages, struct code_file *file);
