/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that a reader gives, checked for order and gaps, and compared. */
#pragma once

#include "receiver/ebpf/unwind/rule.h"

#include <stddef.h>

enum { RULES_MAX = 4096, AMD64_SP = 7, AMD64_FP = 6, ARM64_SP = 31, ARM64_FP = 29 };

struct rules {
	struct {
		uint64_t start, limit;
		struct unwind_rule rule;
	} items[RULES_MAX];
	size_t count;
	uint64_t at; /* given up to here */
};

/* What is asked for is to come from @start on. */
void rules_begin(struct rules *rules, uint64_t start);

/* An unwind_take_function; fails the test when a range does not follow the one before. */
void rules_take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule);

/* The rule at @address; fails the test when none was given. */
const struct unwind_rule *rules_at(const struct rules *rules, uint64_t address);

/* register + offset, the return address @ra above the CFA, the frame pointer kept. */
struct unwind_rule rule_of(uint8_t reg, int32_t offset, int32_t ra);

void assert_rule_equal(const struct unwind_rule *rule, const struct unwind_rule *expected);
void assert_rule_kind(const struct unwind_rule *rule, enum unwind_cfa kind);
