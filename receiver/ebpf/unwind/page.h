/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds pages (bpf/unwind_tables.h) from rules that come in order. One thread at a time.
 */
#pragma once

#include "rule.h"

#include "sample.h"

#include <stddef.h>

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
	bool amd64;
	int error; /* 0, -ENOMEM, -E2BIG: beyond UNWIND_PAGE_ROWS, -ENOSPC: no room in the table */
};

void page_begin(struct page *page, uint64_t start, uint16_t elf_machine,
		page_number_function number, void *context);

/* An unwind_take_function; @context is the page. Outside of the page it does nothing. */
void page_take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule);

/* Bytes of the finished page, after rules for all of it were taken; 0 when something failed. */
size_t page_finish(struct page *page);

void page_write(const struct page *page, void *to); /* page_finish's bytes */
void page_deinit(struct page *page);
