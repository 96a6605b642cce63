/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the kernel side walks by: slabs (bpf/unwind_tables.h), made as they are needed
 * under one limit, and the objects in them. What is freed is not given out again before a grace
 * period is over, since a walk on another CPU may be reading it. Knows nothing of BPF. One thread
 * at a time.
 */
#pragma once

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has the slabs. Both return 0 or a negative errno. */
struct memory_slabs {
	int (*create)(void *context, uint32_t slab); /* all zero */
	int (*write)(void *context, uint32_t slab, uint32_t offset, const void *bytes,
		     size_t length);
	void *context;
};

struct memory;

/* @limit_bytes bounds the slabs. NULL without memory. */
struct memory *memory_create(const struct memory_slabs *slabs, uint64_t limit_bytes);
void memory_destroy(struct memory *memory); /* accepts NULL */

/*
 * Put @length bytes (at most UNWIND_SLAB_BYTES, not 0) somewhere and return the handle; 0 when
 * there is no room, or the slabs failed. @now_ns tells whose grace is over.
 */
uint32_t memory_put(struct memory *memory, const void *bytes, size_t length, uint64_t now_ns);

/* Change @length bytes of an object, at @offset in it. Readers may see half of it, but no half of
 * an aligned word. 0 or a negative errno. */
int memory_change(struct memory *memory, uint32_t handle, uint32_t offset, const void *bytes,
		  size_t length);

/* No walk that begins from now on can find the object. @length as it was put. */
void memory_free(struct memory *memory, uint32_t handle, size_t length, uint64_t now_ns);

uint64_t memory_bytes(const struct memory *memory); /* of all slabs that were made */
uint64_t memory_used(const struct memory *memory);  /* of all objects, those in grace included */
