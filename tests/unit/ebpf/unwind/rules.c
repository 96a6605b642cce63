// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void rules_begin(struct rules *rules, uint64_t start)
{
	rules->count = 0;
	rules->at = start;
}

void rules_take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	struct rules *rules = context;

	assert_int_equal(start, rules->at);
	assert_true(start < limit);
	rules->at = limit;
	assert_true(rules->count < RULES_MAX);
	rules->items[rules->count].start = start;
	rules->items[rules->count].limit = limit;
	rules->items[rules->count++].rule = *rule;
}

const struct unwind_rule *rules_at(const struct rules *rules, uint64_t address)
{
	for (size_t i = 0; i < rules->count; i++)
		if (address >= rules->items[i].start && address < rules->items[i].limit)
			return &rules->items[i].rule;
	fail_msg("no rule for %llx", (unsigned long long)address);
	return NULL;
}

struct unwind_rule rule_of(uint8_t reg, int32_t offset, int32_t ra)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = reg,
		.cfa_offset = offset,
		.ra = UNWIND_AT_CFA,
		.ra_offset = ra,
	};
}

void assert_rule_equal(const struct unwind_rule *rule, const struct unwind_rule *expected)
{
	assert_int_equal(rule->cfa, expected->cfa);
	assert_int_equal(rule->cfa_register, expected->cfa_register);
	assert_int_equal(rule->cfa_offset, expected->cfa_offset);
	assert_memory_equal(rule, expected, sizeof(*rule));
}

void assert_rule_kind(const struct unwind_rule *rule, enum unwind_cfa kind)
{
	assert_int_equal(rule->cfa, kind);
}
