// SPDX-License-Identifier: Apache-2.0
#include "page_rules.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT, SP = 7, FP = 6 };

/* As unwind_tables.h lays it down for amd64. */
static struct unwind_rule unpack(uint32_t packed)
{
	bool by_sp = packed & UNWIND_PACKED_SP;
	uint32_t depth = (packed & (by_sp ? 0x7fff : 0x3fff)) >> 5, slot = packed & 31;
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = by_sp ? SP : FP,
		.cfa_offset = 8 * (int32_t)depth,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
	};

	if (slot) {
		rule.fp = UNWIND_AT_CFA;
		rule.fp_offset = -8 * ((int32_t)slot + 1);
	}
	return rule;
}

struct unwind_rule page_rules_at(const struct worker_answer *answer, const struct worker_page *page,
				 uint64_t address)
{
	size_t block = (address & (PAGE_BYTES - 1)) >> UNWIND_BLOCK_SHIFT;
	uint32_t found = 0;

	for (uint32_t i = page->first[block]; i < page->first[block + 1]; i++)
		if ((page->rows[i] & 0xff) <= (address & 0xff))
			found = page->rows[i] >> 16;
	if (found & (UNWIND_PACKED_SP | UNWIND_PACKED_FP))
		return unpack(found);
	if (found == UNWIND_RULE_UNKNOWN)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_UNKNOWN };
	if (found == UNWIND_RULE_END)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	assert_true(found - WORKER_FIRST_RULE < answer->rule_count);
	return answer->rules[found - WORKER_FIRST_RULE];
}

struct comparison {
	const struct worker_answer *answer;
	const struct worker_page *page;
	uint64_t at; /* compared up to here */
};

/* What does not matter made equal. */
static struct unwind_rule normal(struct unwind_rule rule)
{
	if (rule.cfa == UNWIND_CFA_UNKNOWN || rule.cfa == UNWIND_CFA_END)
		return (struct unwind_rule){ .cfa = rule.cfa };
	if (rule.fp == UNWIND_SAME)
		rule.fp_offset = 0;
	if (rule.cfa == UNWIND_CFA_REGISTER)
		rule.cfa_addend = 0;
	return rule;
}

static void compare(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	struct comparison *comparison = context;
	struct unwind_rule theirs = normal(*rule);

	assert_int_equal(start, comparison->at);
	comparison->at = limit;
	for (uint64_t at = start; at < limit; at++) {
		struct unwind_rule ours =
			normal(page_rules_at(comparison->answer, comparison->page, at));

		if (memcmp(&ours, &theirs, sizeof(ours)))
			fail_msg("at %#" PRIx64 ": cfa %u r%u%+d, by the tables %u r%u%+d", at,
				 ours.cfa, ours.cfa_register, ours.cfa_offset, theirs.cfa,
				 theirs.cfa_register, theirs.cfa_offset);
	}
}

void page_rules_expect_source(const struct worker_answer *answer, const struct image *image)
{
	for (size_t i = 0; i < answer->page_count; i++) {
		uint64_t start = (uint64_t)answer->pages[i].number << UNWIND_PAGE_SHIFT;
		struct comparison comparison = { answer, &answer->pages[i], start };

		unwind_source_visit(&image->source, start, start + PAGE_BYTES, compare,
				    &comparison);
		assert_int_equal(comparison.at, start + PAGE_BYTES);
	}
}
