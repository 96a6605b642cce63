/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the rows of pages from rules that come in order. One thread at a time.
 *
 * A row says from which byte of a block of 256 on which rule holds, up to the next:
 *
 *   bits  0..7   byte
 *   bit  8       PAGE_ROW_NO_CALL
 *   bits 16..31  rule, as in bpf/unwind_tables.h
 */
#pragma once

#include "elf_view.h"
#include "rule.h"

#include "sample.h"

#include <stddef.h>

enum {
	PAGE_HEAD_BYTES = 2 * (UNWIND_BLOCKS + 2),
	PAGE_MAX_BYTES = 32256, /* so many rows fit an object of the kernel side's, too */
	PAGE_MAX_ROWS = (PAGE_MAX_BYTES - PAGE_HEAD_BYTES) / 4,

	/* No call ends where the row holds: it is of no use to a frame that has called another. */
	PAGE_ROW_NO_CALL = 1 << 8,
};

/*
 * The number of @rule in the table of rules, where it is added when it is new; negative when
 * there is no room. Rules are equal when their bytes are.
 */
typedef int (*page_number_function)(void *context, const struct unwind_rule *rule);

struct page {
	uint64_t start; /* ELF address: a multiple of the page's size */
	uint16_t first[UNWIND_BLOCKS + 1];
	uint32_t *rows; /* owned */
	size_t row_count, row_capacity;
	uint64_t at; /* rules are there up to here */
	page_number_function number;
	void *context;
	const struct elf_view *code; /* borrowed */
	uint16_t machine;
	int error; /* 0, -ENOMEM, -E2BIG: beyond PAGE_MAX_ROWS, -ENOSPC: no room in the table */
};

/* @code is borrowed until page_finish; without it (NULL) any row may have calls. */
void page_begin(struct page *page, uint64_t start, uint16_t elf_machine,
		const struct elf_view *code, page_number_function number, void *context);

/* An unwind_take_function; @context is the page. Outside of the page it does nothing. */
void page_take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule);

/* Bytes of the finished page, PAGE_HEAD_BYTES with `first` and the rows, after rules for all of it
 * were taken; 0 when something failed. */
size_t page_finish(struct page *page);

void page_write(const struct page *page, void *to); /* page_finish's bytes */
void page_deinit(struct page *page);
