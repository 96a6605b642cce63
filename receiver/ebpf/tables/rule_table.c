// SPDX-License-Identifier: Apache-2.0
#include "rule_table.h"

#include <string.h>

enum {
	FIRST = UNWIND_RULE_END + 1, /* numbers below are fixed ones */
	ROOM = UNWIND_RULES - FIRST,
	FILE_MOST = 512, /* of one file: libcrypto has 120 */
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
	shares_deinit(&table->shares);
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

static uint32_t count_free(const struct rule_table *table)
{
	return UNWIND_RULES - table->count + (uint32_t)table->free.count;
}

static bool is_free(const struct rule_table *table, uint32_t number)
{
	return table->uses[number].round == UINT32_MAX;
}

/* What no file has any more becomes free. */
static void take_back(struct rule_table *table)
{
	size_t before = table->free.count;

	for (uint32_t number = FIRST; number < table->count; number++) {
		struct rule_use *use = &table->uses[number];

		if (is_free(table, number) || !is_unused(table, number))
			continue;
		if (!VECTOR_PUSH(&table->free, (uint16_t)number))
			break;
		*use = (struct rule_use){ .round = UINT32_MAX };
		table->unused--;
	}
	if (table->free.count == before)
		return;
	table->taken_back += table->free.count - before;
	// There is room for more than these.
	intern_clear(&table->index);
	for (uint32_t number = FIRST; number < table->count; number++)
		if (!is_free(table, number))
			intern_insert(&table->index, hash_of(&table->rules[number]), number);
}

/* May @owner have @count more? What was let go of is as good as free. */
static bool admits(const struct rule_table *table, struct owner owner, uint32_t count)
{
	return shares_admit(&table->shares, owner, count, ROOM, count_free(table) + table->unused);
}

/* Are there places for them? */
static bool has_places(struct rule_table *table, uint32_t count)
{
	if (count_free(table) < count && table->looked != table->round) {
		table->looked = table->round;
		take_back(table);
	}
	return count_free(table) >= count;
}

/* A place for @rule; UNWIND_RULE_UNKNOWN without one. */
static uint32_t add_rule(struct rule_table *table, const struct unwind_rule *rule, uint32_t hash)
{
	uint32_t number;

	if (!has_places(table, 1))
		return UNWIND_RULE_UNKNOWN;
	number = table->free.count ? table->free.items[table->free.count - 1] : table->count;
	if (!intern_insert(&table->index, hash, number))
		return UNWIND_RULE_UNKNOWN;
	if (table->free.count)
		table->free.count--;
	else
		table->count++;
	table->rules[number] = *rule;
	table->uses[number] = (struct rule_use){ .round = table->round };
	table->unused++;
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

/* One more file, which is @owner's, has the rule of @use. */
static void join(struct rule_table *table, struct rule_use *use, struct owner owner)
{
	struct owner joined = use->files ? owner_join(use->owner, owner) : owner;

	if (use->files)
		shares_take(&table->shares, use->owner, 1);
	else
		table->unused--;
	shares_add(&table->shares, joined, 1);
	use->owner = joined;
	use->files++;
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
	join(table, &table->uses[number], uses->owner);
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
		if (uses->numbers.count < FILE_MOST && admits(table, uses->owner, 1))
			number = add_rule(table, rule, hash);
		table->wanted |= number == UNWIND_RULE_UNKNOWN && uses->numbers.count < FILE_MOST;
	} else if (!table->uses[number].files && !admits(table, uses->owner, 1)) {
		// One that was let go of for others does not come back that way.
		table->wanted = true;
		number = UNWIND_RULE_UNKNOWN;
	}
	if (number == UNWIND_RULE_UNKNOWN || !use_rule(table, uses, number)) {
		table->refused++;
		return UNWIND_RULE_UNKNOWN;
	}
	return number;
}

bool rule_table_has_room(struct rule_table *table, const struct rule_uses *uses, uint32_t count)
{
	uint64_t share = shares_left(&table->shares, uses->owner, ROOM);
	uint32_t left = FILE_MOST - (uint32_t)uses->numbers.count;

	count = count < left ? count : left;
	if (!count)
		return false;
	if (has_places(table, count) && admits(table, uses->owner, count))
		return true;
	return share && share < count && has_places(table, (uint32_t)share);
}

void rule_table_release(struct rule_table *table, struct rule_uses *uses)
{
	for (size_t i = 0; i < uses->numbers.count; i++) {
		struct rule_use *use = &table->uses[uses->numbers.items[i]];

		use->round = table->round;
		if (--use->files)
			continue;
		shares_take(&table->shares, use->owner, 1);
		table->unused++;
	}
	VECTOR_DEINIT(&uses->numbers);
}

bool rule_table_most(const struct rule_table *table, struct owner *ret)
{
	return shares_largest(&table->shares, ROOM, ret);
}

bool rule_table_largest(const struct rule_table *table, struct owner *ret)
{
	return count_free(table) + table->unused < shares_reserve(ROOM) &&
	       rule_table_most(table, ret);
}

size_t rule_table_held(const struct rule_table *table, const struct rule_uses *uses,
		       struct owner owner)
{
	size_t count = 0;

	for (size_t i = 0; i < uses->numbers.count; i++)
		count += owner_is(table->uses[uses->numbers.items[i]].owner, owner);
	return count;
}

void rule_table_next_round(struct rule_table *table)
{
	table->round++;
}
