/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting in linear time: foreign input cannot choose an order that makes it slow. Nothing is asked
 * of the kernel but memory: libc's qsort wants to know how much the machine has, which a sandboxed
 * process may not ask. Any thread.
 */
#pragma once

#include <stddef.h>

/* By the uint64_t that lies at @key_offset in each of @count items of @item_size bytes, ascending,
 * stable. 0 or -ENOMEM, the items being unchanged then. */
int radix_sort(void *items, size_t count, size_t item_size, size_t key_offset);
