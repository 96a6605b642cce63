// SPDX-License-Identifier: Apache-2.0
#include "rule_table.h"

#include <string.h>

/* Numbers below are fixed ones. */
enum { FIRST = UNWIND_RULE_END + 1 };

void rule_table_init(struct rule_table *table, struct unwind_rule *rules)
{
	*table = (struct rule_table){ .rules = rules, .count = FIRST };
}

void rule_table_deinit(struct rule_table *table)
{
	intern_deinit(&table->index);
}

struct lookup {
	const struct unwind_rule *rules, *wanted;
};

static bool rule_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;

	return !memcmp(&lookup->rules[id], lookup->wanted, sizeof(*lookup->wanted));
}

uint32_t rule_table_number(struct rule_table *table, const struct unwind_rule *rule, uint32_t *left)
{
	struct lookup lookup = { table->rules, rule };
	uint32_t hash = intern_hash(rule, sizeof(*rule));
	uint32_t id = intern_find(&table->index, hash, rule_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	if (!*left || table->count >= UNWIND_RULES ||
	    !intern_insert(&table->index, hash, table->count)) {
		table->refused++;
		return UNWIND_RULE_UNKNOWN;
	}
	(*left)--;
	table->rules[table->count] = *rule;
	return table->count++;
}
