/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slabs of memory.h as the kernel side has them: arrays in an array of maps. A descriptor is
 * held for each, since only CAP_SYS_ADMIN could get another one. One thread at a time.
 */
#pragma once

#include "memory.h"

struct slabs;

/*
 * @outer_fd is the array of maps, borrowed until destroy; @count its entries. Lines of a slab begin
 * @lead bytes, less than a line, into its map's value. Raises the limit on
 * open files where that is too low for them. NULL without memory.
 */
struct slabs *slabs_create(int outer_fd, uint32_t lead, uint32_t count);
void slabs_destroy(struct slabs *slabs); /* accepts NULL */

/* For memory_create; borrows @slabs. */
struct memory_slabs slabs_operations(struct slabs *slabs);

/* How many there may be: fewer than asked for where the limit on open files allows no more. */
uint32_t slabs_limit(const struct slabs *slabs);
uint64_t slabs_bytes(const struct slabs *slabs); /* of those there are */
