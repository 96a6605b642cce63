// SPDX-License-Identifier: Apache-2.0
#include "rule_list.h"

#include <string.h>

_Static_assert((size_t)PROTOCOL_MAX_RULES < RULE_LIST_SLOTS, "a free slot ends every search");

void rule_list_deinit(struct rule_list *list)
{
	VECTOR_DEINIT(&list->rules);
}

static size_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t words[sizeof(*rule) / sizeof(uint64_t)], hash = 0;

	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15 ^ hash >> 29;
	return hash >> 40;
}

/* Where @rule is, or the free slot where it belongs. */
static uint16_t *find_slot(struct rule_list *list, const struct unwind_rule *rule)
{
	size_t at = rule_hash(rule);

	for (;; at++) {
		uint16_t *slot = &list->slots[at & (RULE_LIST_SLOTS - 1)];

		if (!*slot || !memcmp(&list->rules.items[*slot - 1], rule, sizeof(*rule)))
			return slot;
	}
}

int rule_list_number(void *context, const struct unwind_rule *rule)
{
	struct rule_list *list = context;
	uint16_t *slot = find_slot(list, rule);

	if (!*slot) {
		if (list->rules.count == PROTOCOL_MAX_RULES || !VECTOR_PUSH(&list->rules, *rule))
			return -1;
		*slot = (uint16_t)list->rules.count;
	}
	return WORKER_FIRST_RULE + *slot - 1;
}

void rule_list_cut(struct rule_list *list, size_t count)
{
	// The latest first: no search for an earlier one goes through its slot.
	while (list->rules.count > count) {
		*find_slot(list, &list->rules.items[list->rules.count - 1]) = 0;
		list->rules.count--;
	}
}
