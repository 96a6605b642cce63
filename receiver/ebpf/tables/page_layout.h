/* SPDX-License-Identifier: Apache-2.0 */
/* A page of rules as the kernel side reads it (bpf/unwind_tables.h). Any thread. */
#pragma once

#include "unwind/unwind.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Write to @to, which has room for UNWIND_OBJECT_BYTES, the page of @rows (unwind/page.h), of which
 * those of block i are [first[i], first[i + 1]), PAGE_MAX_ROWS at most. Returns its length.
 */
size_t page_layout_write(uint8_t *to, const uint16_t first[UNWIND_BLOCKS + 1],
			 const uint32_t *rows);

/* The 16 bits of the row at @address, of which the last 16 bits count, whatever the @length bytes
 * of @page are. Negative when they say nothing. */
int32_t page_layout_find(const uint8_t *page, size_t length, uint64_t address);
