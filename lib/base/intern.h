/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index over rows that live elsewhere: it maps a hash and an equality test
 * to the row's id. Open addressing, linear probing, 8 bytes a slot, at most 3/4
 * full. Clearing keeps the memory, so a table that is filled again and again
 * allocates nothing in the steady state. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_slot {
	uint32_t hash;
	uint32_t id_plus_one; /* 0 = free */
};

struct intern {
	struct intern_slot *slots; /* owned */
	uint32_t mask;             /* slots - 1; 0 before the first insertion */
	uint32_t count;
};

enum { INTERN_MISSING = UINT32_MAX };

/* Is row @id equal to what @context describes? */
typedef bool (*intern_equal_function)(uint32_t id, const void *context);

/* The id of the row with @hash that @equal accepts, or INTERN_MISSING. */
uint32_t intern_find(const struct intern *index, uint32_t hash, intern_equal_function equal,
		     const void *context);

/* Add @id under @hash; it must not be there yet. False without memory. */
bool intern_insert(struct intern *index, uint32_t hash, uint32_t id);

/* Make room for @count rows in all: no insertion up to there allocates. False without memory. */
bool intern_reserve(struct intern *index, uint32_t count);

void intern_clear(struct intern *index);          /* keeps the memory */
void intern_deinit(struct intern *index);         /* leaves it empty and usable */
size_t intern_memory(const struct intern *index); /* bytes */

/* XXH3 (xxHash 0.8), folded to 32 bits. */
uint32_t intern_hash(const void *bytes, size_t length);
uint32_t intern_hash_seeded(const void *bytes, size_t length, uint64_t seed);
