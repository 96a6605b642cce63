/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the kernel side walks by: slabs (bpf/unwind_tables.h), made as they are needed
 * under one limit, and the objects in them. What is freed is not given out again before a grace
 * period is over, since a walk on another CPU may be reading it. Knows nothing of BPF. One thread
 * at a time.
 */
#pragma once

#include "processes/processes.h"

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has the slabs. All return 0 or a negative errno. */
struct memory_slabs {
	int (*create)(void *context, uint32_t slab); /* all zero */
	int (*write)(void *context, uint32_t slab, uint32_t offset, const void *bytes,
		     size_t length);
	int (*read)(void *context, uint32_t slab, uint32_t offset, void *bytes, size_t length);
	void (*keep)(void *context, uint32_t count); /* the first @count; others are destroyed */
	void *context;
};

struct memory;

/* Two kinds of objects: those that can be dropped for others, and those that cannot, which get no
 * more than half of the memory. */
enum memory_kind { MEMORY_DROPPABLE, MEMORY_FIXED };

/* @limit_bytes bounds the slabs; @clock_ns tells when a grace period is over. NULL without memory.
 */
struct memory *memory_create(const struct memory_slabs *slabs, uint64_t limit_bytes,
			     uint64_t (*clock_ns)(void));
void memory_destroy(struct memory *memory); /* accepts NULL */

/*
 * Put @length bytes (at most UNWIND_OBJECT_BYTES, not 0) somewhere and return the handle; 0 when
 * there is no room, or the slabs failed.
 */
uint32_t memory_put(struct memory *memory, enum memory_kind kind, const void *bytes, size_t length);

/* Change @length bytes of an object, at @offset in it. Readers may see half of it, but no half of
 * an aligned word. 0 or a negative errno: it is as it was. */
int memory_change(struct memory *memory, uint32_t handle, uint32_t offset, const void *bytes,
		  size_t length);

/* Read the first @length bytes of an object. 0 or a negative errno. */
int memory_read(const struct memory *memory, uint32_t handle, void *bytes, size_t length);

/* No walk that begins from now on can find the object. @kind and @length as it was put; handle 0
 * is nothing. */
void memory_free(struct memory *memory, enum memory_kind kind, uint32_t handle, size_t length);

/*
 * Whose the objects are is for those to say who put them: what each owner has of a kind, in bytes
 * that memory_charge() has for an object of @length. May @owner have another one? Whose go so that
 * some of the room is free for small owners (processes/shares.h); false: nobody's.
 */
uint64_t memory_charge(size_t length);
struct shares *memory_shares(struct memory *memory, enum memory_kind kind);
bool memory_admits(const struct memory *memory, enum memory_kind kind, struct owner owner,
		   size_t length);
bool memory_largest(const struct memory *memory, enum memory_kind kind, struct owner *ret);

/* Another limit; slabs that are there already stay until memory_trim finds them empty. */
void memory_set_limit(struct memory *memory, uint64_t limit_bytes);

/* Give back the last slabs as far as nothing lies in them. */
void memory_trim(struct memory *memory);

uint64_t memory_used(const struct memory *memory);  /* bytes of all objects */
uint64_t memory_limit(const struct memory *memory); /* bytes of all slabs there may be */
