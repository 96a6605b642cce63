// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include "calls.h"

#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT,
	BLOCK_BYTES = 1 << UNWIND_BLOCK_SHIFT,
	SLOT_BITS = 5,
};

void page_begin(struct page *page, uint64_t start, uint16_t elf_machine,
		const struct elf_view *code, page_number_function number, void *context)
{
	*page = (struct page){
		.start = start,
		.at = start,
		.number = number,
		.context = context,
		.code = code,
		.machine = elf_machine,
	};
}

/* ---- rules in 16 bits ---- */

/* -1 when the caller's frame pointer is elsewhere. */
static int fp_slot(const struct unwind_rule *rule)
{
	int32_t slot;

	if (rule->fp == UNWIND_SAME)
		return 0;
	if (rule->fp != UNWIND_AT_CFA || rule->fp_offset % 8 || rule->fp_offset > -16)
		return -1;
	slot = -(rule->fp_offset / 8) - 1;
	return slot < UNWIND_PACKED_SLOTS ? slot : -1;
}

/* Negative when @rule is none of the packed forms. */
static int pack(const struct unwind_rule *rule)
{
	enum { SP = 7, FP = 6 }; // System V ABI AMD64, figure 3.36
	int32_t depth = rule->cfa_offset / 8;
	int slot = fp_slot(rule);

	if (rule->cfa != UNWIND_CFA_REGISTER || rule->signal || rule->stack_switch ||
	    rule->new_thread || rule->ra != UNWIND_AT_CFA || rule->ra_offset != -8 ||
	    rule->cfa_offset % 8 || depth <= 0 || slot < 0)
		return -1;
	if (rule->cfa_register == SP && depth < UNWIND_PACKED_SP_DEPTHS)
		return UNWIND_PACKED_SP | depth << SLOT_BITS | slot;
	if (rule->cfa_register == FP && depth < UNWIND_PACKED_FP_DEPTHS)
		return UNWIND_PACKED_FP | depth << SLOT_BITS | slot;
	return -1;
}

static int number_of(const struct page *page, const struct unwind_rule *rule)
{
	int packed = page->machine == EM_X86_64 ? pack(rule) : -1;

	if (packed >= 0)
		return packed;
	if (rule->cfa == UNWIND_CFA_UNKNOWN)
		return UNWIND_RULE_UNKNOWN;
	if (rule->cfa == UNWIND_CFA_END)
		return UNWIND_RULE_END;
	return page->number(page->context, rule);
}

/* ---- rows ---- */

static void add_row(struct page *page, uint32_t row)
{
	if (page->row_count == PAGE_MAX_ROWS) {
		page->error = -E2BIG;
		return;
	}
	if (page->row_count == page->row_capacity &&
	    !vector_grow((void **)&page->rows, &page->row_capacity, page->row_count + 1,
			 sizeof(*page->rows))) {
		page->error = -ENOMEM;
		return;
	}
	page->rows[page->row_count++] = row;
}

/* [start, limit) of the page, distances from its start, in one rule. @marks: PAGE_ROW_NO_CALL, or
 * 0. */
static void add_range(struct page *page, uint64_t start, uint64_t limit, unsigned int rule,
		      uint32_t marks)
{
	for (uint64_t at = start; at < limit && !page->error;) {
		unsigned int block = (unsigned int)(at >> UNWIND_BLOCK_SHIFT);
		unsigned int byte = at & (BLOCK_BYTES - 1);

		if (!byte)
			page->first[block] = (uint16_t)page->row_count;
		// A block begins with a row of its own; else only what differs needs one.
		if (!byte || page->rows[page->row_count - 1] >> 16 != rule)
			add_row(page, byte | marks | rule << 16);
		else
			page->rows[page->row_count - 1] &= marks | ~(uint32_t)PAGE_ROW_NO_CALL;
		at = ((uint64_t)block + 1) << UNWIND_BLOCK_SHIFT;
	}
}

/*
 * Rules of frames that may be another's caller in a way of their own are left alone: what leads to
 * them need not be a call. That is what signals, threads' entries and the like are.
 */
static bool is_ordinary(const struct page *page, const struct unwind_rule *rule, int number)
{
	// Padding between functions, mostly.
	if (number == UNWIND_RULE_UNKNOWN)
		return true;
	if (page->machine == EM_X86_64)
		return number >= UNWIND_PACKED_FP; // a call leaves the return address at CFA - 8
	return rule->cfa == UNWIND_CFA_REGISTER && rule->ra == UNWIND_AT_CFA && !rule->signal &&
	       !rule->stack_switch && !rule->new_thread;
}

static uint32_t marks_of(const struct page *page, uint64_t start, uint64_t limit,
			 const struct unwind_rule *rule, int number)
{
	// Longer ones are of use anyway, almost all.
	enum { LOOKED_AT = 64 };
	struct elf_piece piece;

	// What is cut off at the page's start need not begin with an instruction.
	if (!page->code || start <= page->start || limit - start > LOOKED_AT ||
	    !is_ordinary(page, rule, number))
		return 0;
	if (page->machine == EM_AARCH64 && (start | limit) % 4)
		return 0; // no instructions
	piece = elf_view_code(page->code, start, limit - start);
	if (!piece.bytes || piece.length != limit - start ||
	    calls_may_end_in(piece.bytes, piece.length, page->machine))
		return 0;
	return PAGE_ROW_NO_CALL;
}

void page_take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	struct page *page = context;
	uint64_t end = page->start + PAGE_BYTES, begun = start, until = limit;
	int number;

	if (start < page->at)
		start = page->at;
	if (limit > end)
		limit = end;
	if (page->error || start >= limit)
		return;
	// What nobody said anything about, in between.
	if (start > page->at)
		add_range(page, page->at - page->start, start - page->start, UNWIND_RULE_UNKNOWN,
			  marks_of(page, page->at, start, NULL, UNWIND_RULE_UNKNOWN));
	number = number_of(page, rule);
	if (number < 0)
		page->error = -ENOSPC;
	else
		add_range(page, start - page->start, limit - page->start, (unsigned int)number,
			  marks_of(page, begun, until, rule, number));
	page->at = limit;
}

size_t page_finish(struct page *page)
{
	add_range(page, page->at - page->start, PAGE_BYTES, UNWIND_RULE_UNKNOWN, 0);
	page->at = page->start + PAGE_BYTES;
	if (page->error)
		return 0;
	page->first[UNWIND_BLOCKS] = (uint16_t)page->row_count;
	return PAGE_HEAD_BYTES + page->row_count * sizeof(*page->rows);
}

void page_write(const struct page *page, void *to)
{
	uint8_t *bytes = to;

	memset(bytes, 0, PAGE_HEAD_BYTES);
	memcpy(bytes, page->first, sizeof(page->first));
	memcpy(bytes + PAGE_HEAD_BYTES, page->rows, page->row_count * sizeof(*page->rows));
}

void page_deinit(struct page *page)
{
	free(page->rows);
	page->rows = NULL;
	page->row_count = page->row_capacity = 0;
}
