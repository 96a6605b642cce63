/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the code of one file: where its segments lie and which pages of its text the
 * kernel side has. One thread at a time.
 */
#pragma once

#include "memory.h"
#include "rule_table.h"

#include "runtimes/runtime.h"
#include "worker/worker.h"

#include "base/base.h"

#include <sys/queue.h>

enum code_page_state {
	CODE_PAGE_ABSENT,
	CODE_PAGE_WANTED, /* missed, and not asked for yet */
	CODE_PAGE_ASKED,
	CODE_PAGE_PRESENT,
	CODE_PAGE_FAILED, /* has no rules; frame pointers there */
};

struct code_page {
	uint32_t handle;
	uint16_t length; /* bytes; what memory_free wants */
	uint8_t state;   /* enum code_page_state */
	union {
		uint8_t tries; /* left to find room for it */
		uint8_t lacks; /* of one PRESENT: rules there was no room for; UINT8_MAX: or more */
	};
	uint32_t epoch; /* when it was seen last */
};

enum code_file_state {
	CODE_FILE_WANTED, /* to be asked for */
	CODE_FILE_ASKED,
	CODE_FILE_BARE,
	CODE_FILE_KNOWN,
};

/* A file that could not be read is tried again, the first time soon, but only some times: it may
 * have been the machine's fault. */
enum { CODE_FILE_ATTEMPTS = 3 };

/* A runtime, and what the file says of it. */
struct code_runtime {
	const struct runtime *runtime;
	uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)];
};

struct code_file {
	uint32_t id;
	struct code_file *next;        /* in its chain of code_files */
	TAILQ_ENTRY(code_file) others; /* of these */
	LIST_HEAD(, pages_use) uses;   /* by processes */
	uint32_t users;                /* how many they are */
	uint32_t epoch;                /* when the last of them went */
	enum code_file_state state;
	bool page_request;   /* one is under way */
	bool queued;         /* stands in the queue of those to ask for */
	bool waits;          /* is to be queued, at retry_ns */
	uint64_t retry_ns;   /* nothing is asked before */
	uint32_t failures;   /* attempts to learn of it that came to nothing */
	struct owner owner;  /* as of when something was learned of it last */
	uint64_t page_bytes; /* in the kernel side's memory, of its pages */
	struct rule_uses rules;
	struct worker_segment *segments; /* owned: the executable ones */
	size_t segment_count, segment_room;
	uint32_t page_first, page_count;
	struct code_page *pages;       /* owned, page_count of them */
	uint32_t directory;            /* handle of page_count handles; 0: none */
	struct code_runtime *runtimes; /* owned: those whose file it is */
	size_t runtime_count;
	bool switches_stacks;    /* its code changes stacks, as a rule of it says */
	VECTOR(uint64_t) missed; /* places in it, bytes, that were missed before it was known */
};

struct code_file *code_file_create(uint32_t id); /* NULL without memory */
void code_file_destroy(struct code_file *file);  /* accepts NULL; leaves the kernel's side alone */

/* Has the kernel side none of its pages? */
bool code_file_is_empty(const struct code_file *file);

/* Does nobody run it? Under way or queued it has to stay: the answer will come by its number. */
bool code_file_is_idle(const struct code_file *file);

size_t code_file_memory(const struct code_file *file); /* bytes, of user space */

/* Take over what @answer says of the file. 0, -ENOENT when it has no table that can be used, or
 * -ENOMEM. */
int code_file_learn(struct code_file *file, const struct worker_answer *answer);

/* There is no room for what code_file_learn took over. */
void code_file_unlearn(struct code_file *file);

/* Keep @file_offset in `missed`; beyond a bound not, nor without memory. */
void code_file_remember(struct code_file *file, uint64_t file_offset);

/* The number of the page that holds @file_offset, from 0; false when it is not code of the file. */
bool code_file_find(const struct code_file *file, uint64_t file_offset, uint32_t *index_ret,
		    uint32_t *offset_ret);
