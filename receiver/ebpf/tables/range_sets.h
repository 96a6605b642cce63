/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of processes in the kernel side's memory, each content once: a fork has its parent's.
 * Those of a process that has very many lie in several pieces, so that what does not change when it
 * maps more stays where it is. One thread at a time.
 */
#pragma once

#include "memory.h"

struct range_sets;

enum { RANGE_SETS_KEPT = 256 }; /* so many ranges of a process are kept in user space, too */

struct range_set {
	struct range_set *next; /* in its chain */
	uint64_t hash;
	uint32_t bytes;         /* long */
	uint32_t handle, count; /* as unwind_process.code has them */
	uint32_t users;
	struct owner owner;          /* of those processes, as owner_join has it */
	struct range_set **pieces;   /* owned, each a use; NULL: it has the ranges itself */
	struct unwind_range *ranges; /* owned, `count` of them; NULL: too many to have them here */
};

/* NULL without memory. @memory is borrowed until destroy. */
struct range_sets *range_sets_create(struct memory *memory);
void range_sets_destroy(struct range_sets *sets); /* accepts NULL; leaves the kernel's side alone */

/* How many ranges one process can have: as many as an eighth of the memory holds. */
size_t range_sets_most(const struct range_sets *sets);

size_t range_sets_memory(const struct range_sets *sets); /* bytes, of ranges in user space */

/* A use by @owner of @count ranges, at least one and at most range_sets_most(), as @ranges has
 * them. NULL when there is no room, or none for more of this owner's. */
struct range_set *range_sets_use(struct range_sets *sets, struct owner owner,
				 const struct unwind_range *ranges, size_t count);

/* No walk that begins from now on finds @set by this use of it. Accepts NULL. */
void range_sets_release(struct range_sets *sets, struct range_set *set);
