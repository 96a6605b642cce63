/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table remembers files that have been read, by what they are: one that is renamed stays known,
 * one that is written to is another. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { SEEN_MOST = 65536, SEEN_CAPACITY = 2 * SEEN_MOST };

struct seen_entry {
	uint64_t device, inode, bytes, modified_ns;
	uint32_t round; /* of the last look at which it was there; 0 = none is here */
};

struct seen {
	struct seen_entry *entries; /* owned: a hash table of SEEN_CAPACITY, half full at most */
	size_t count, met;          /* that are known; of these, in this round */
	uint32_t round;
	uint64_t changes; /* of what is known, so far */
	uint64_t seed;    /* of the hash */
};

/* False without memory. */
bool seen_init(struct seen *seen);
void seen_deinit(struct seen *seen);

/* A look at all files begins. */
void seen_begin(struct seen *seen);

/* Is the file of @status known? It is there, whatever the answer. */
bool seen_find(struct seen *seen, const struct stat *status);

/* From now on it is. False when SEEN_MOST are. */
bool seen_add(struct seen *seen, const struct stat *status);

/* The look has met all files: forget those that were not there. */
void seen_end(struct seen *seen);
