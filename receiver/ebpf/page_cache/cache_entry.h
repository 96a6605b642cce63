/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file of the cache: an answer about unwind rules as the worker gave it, with what it is an
 * answer to. Numbers are the machine's own, which the entry names.
 *
 *   head, asked (8 bytes each), body (worker/protocol.h: what follows the header of an answer)
 *
 * Whoever wrote it, an entry is read like an answer of a worker: no byte is believed. Any thread.
 */
#pragma once

#include "worker/worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CACHE_ENTRY_VERSION = 4,         /* of this layout; that of rules is cache_entry_rules */
	CACHE_ENTRY_MAX_BYTES = 4 << 20, /* longer ones are not read */
	CACHE_ENTRY_NAME_BYTES = 96,
	CACHE_PART_FACTS = UINT32_MAX, /* what the file is, with all pages of a small one */
};

/* Of the sources that make rules of a file: others may make other ones. Generated. */
extern const uint64_t cache_entry_rules;

/* What an entry is found by. */
struct cache_key {
	char htlhash[33]; /* 32 hex digits */
	/* Whoever writes a file can give it the head and the tail of another one: an entry is of
	 * one inode alone. The place is a hash that no other file system or mount has
	 * (processes/file_look.h), since numbers of devices are given anew. */
	uint64_t place, inode;
	uint32_t part; /* CACHE_PART_FACTS, or the number of the first page of a group */
};

/* What changes with the content of an inode, and with the file that it is of. */
struct cache_identity {
	int64_t modified_ns, changed_ns, born_ns; /* st_mtim, st_ctim; 0: not told */
};

/* Bytes in the file, in this order. */
struct cache_entry_head {
	char magic[8];
	uint32_t version;
	uint32_t machine; /* as ELF files name it */
	uint64_t rules;   /* cache_entry_rules */
	char htlhash[32];
	uint64_t place;
	uint64_t inode;
	int64_t modified_ns;
	int64_t changed_ns;
	int64_t born_ns;
	uint32_t part;
	uint32_t asked_count;
	uint32_t body_bytes;
	uint32_t reserved; /* 0 */
	uint64_t checksum; /* XXH64 of all before and behind it */
};

_Static_assert(sizeof(struct cache_entry_head) == 120, "no padding, 8-byte multiple");

/* The name of its file. */
void cache_entry_name(const struct cache_key *key, char ret[CACHE_ENTRY_NAME_BYTES]);

/* Could @name be one of them? */
bool cache_entry_is_name(const char *name);

/* The head of an entry with @asked and @body (answer.body). */
struct cache_entry_head cache_entry_head_make(const struct cache_key *key,
					      const struct cache_identity *identity,
					      const uint64_t *asked, size_t asked_count,
					      const void *body, size_t body_bytes);

enum cache_entry_state {
	CACHE_ENTRY_SOUND,
	CACHE_ENTRY_OTHER,   /* of another version of profcol, or another machine */
	CACHE_ENTRY_DAMAGED, /* no entry at all, or not the one that its name says */
};

/*
 * Check all @bytes of an entry (aligned to 8; its text is made printable in place). @answer then
 * borrows from both and has what was asked for; `file` is not set.
 */
enum cache_entry_state cache_entry_read(void *entry, size_t bytes, const struct cache_key *key,
					struct worker_page pages[WORKER_MAX_PAGES],
					struct cache_identity *identity,
					struct worker_answer *answer);
