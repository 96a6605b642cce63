// SPDX-License-Identifier: Apache-2.0
#include "rule_table.h"

#include <string.h>

enum {
	FIRST = UNWIND_RULE_END + 1, /* numbers below are fixed ones */
	FILE_MOST = 512,             /* of one file: libcrypto has 120 */
	ROUNDS = 2,
};

void rule_table_init(struct rule_table *table, struct unwind_rule *rules)
{
	*table = (struct rule_table){ .rules = rules, .count = FIRST };
}

void rule_table_deinit(struct rule_table *table)
{
	intern_deinit(&table->index);
	VECTOR_DEINIT(&table->free);
}

struct lookup {
	const struct unwind_rule *rules, *wanted;
};

static bool rule_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;

	return !memcmp(&lookup->rules[id], lookup->wanted, sizeof(*lookup->wanted));
}

static uint32_t hash_of(const struct unwind_rule *rule)
{
	return intern_hash(rule, sizeof(*rule));
}

static bool is_unused(const struct rule_table *table, uint32_t number)
{
	const struct rule_use *use = &table->uses[number];

	return !use->files && table->round - use->round >= ROUNDS;
}

/* All that no file has any more become free. False when there are none, or without memory. */
static bool take_back(struct rule_table *table)
{
	for (uint32_t number = FIRST; number < table->count; number++)
		if (is_unused(table, number) && !VECTOR_PUSH(&table->free, (uint16_t)number))
			break;
	table->taken_back += table->free.count;
	if (!table->free.count)
		return false;
	// There is room for more than these.
	intern_clear(&table->index);
	for (uint32_t number = FIRST, next = 0; number < table->count; number++) {
		if (next < table->free.count && table->free.items[next] == number)
			next++;
		else
			intern_insert(&table->index, hash_of(&table->rules[number]), number);
	}
	return true;
}

/* A place for @rule; UNWIND_RULE_UNKNOWN without one. */
static uint32_t add_rule(struct rule_table *table, const struct unwind_rule *rule, uint32_t hash)
{
	uint32_t number;

	if (table->count < UNWIND_RULES)
		number = table->count;
	else if (table->free.count || take_back(table))
		number = table->free.items[table->free.count - 1];
	else
		return UNWIND_RULE_UNKNOWN;
	if (!intern_insert(&table->index, hash, number))
		return UNWIND_RULE_UNKNOWN;
	if (number == table->count)
		table->count++;
	else
		table->free.count--;
	table->rules[number] = *rule;
	table->uses[number] = (struct rule_use){ .round = table->round };
	return number;
}

/* Where @number stands among those of the file, or would. */
static size_t place_of(const struct rule_uses *uses, uint32_t number)
{
	size_t low = 0, high = uses->numbers.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (uses->numbers.items[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The file has rule @number. False: it cannot have any more. */
static bool use_rule(struct rule_table *table, struct rule_uses *uses, uint32_t number)
{
	size_t place = place_of(uses, number);
	uint16_t *items;

	if (place < uses->numbers.count && uses->numbers.items[place] == number)
		return true;
	if (uses->numbers.count >= FILE_MOST || !VECTOR_RESERVE(&uses->numbers, 1))
		return false;
	items = uses->numbers.items;
	memmove(items + place + 1, items + place, (uses->numbers.count - place) * sizeof(*items));
	items[place] = (uint16_t)number;
	uses->numbers.count++;
	table->uses[number].files++;
	return true;
}

uint32_t rule_table_use(struct rule_table *table, const struct unwind_rule *rule,
			struct rule_uses *uses)
{
	struct lookup lookup = { table->rules, rule };
	uint32_t hash = hash_of(rule);
	uint32_t number = intern_find(&table->index, hash, rule_equal, &lookup);

	if (number == INTERN_MISSING) {
		number = UNWIND_RULE_UNKNOWN;
		if (uses->numbers.count < FILE_MOST) {
			number = add_rule(table, rule, hash);
			table->wanted |= number == UNWIND_RULE_UNKNOWN;
		}
	}
	if (number == UNWIND_RULE_UNKNOWN || !use_rule(table, uses, number)) {
		table->refused++;
		return UNWIND_RULE_UNKNOWN;
	}
	return number;
}

void rule_table_release(struct rule_table *table, struct rule_uses *uses)
{
	for (size_t i = 0; i < uses->numbers.count; i++) {
		struct rule_use *use = &table->uses[uses->numbers.items[i]];

		use->files--;
		use->round = table->round;
	}
	VECTOR_DEINIT(&uses->numbers);
}

void rule_table_next_round(struct rule_table *table)
{
	table->round++;
}
