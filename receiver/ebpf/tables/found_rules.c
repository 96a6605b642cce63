// SPDX-License-Identifier: Apache-2.0
#include "found_rules.h"

#include "page_layout.h"

#include <string.h>

void found_rules_clear(struct found_rules *rules)
{
	memset(rules->found, 0, sizeof(rules->found));
	rules->page_place.number = 0;
}

static bool is_of(const struct found_rule *found, uint32_t file, uint64_t address)
{
	return found->number == file + 1 && found->address == address;
}

static struct found_rule *slot_of(struct found_rules *rules, uint32_t file, uint64_t address)
{
	uint64_t place = (file + 1ull) << UNWIND_FRAME_SHIFT ^ address;

	return &rules->found[place * 0x9e3779b97f4a7c15ull >> 32 & (FOUND_RULES - 1)];
}

static bool read_page(struct found_rules *rules, const struct memory *memory, uint32_t file,
		      uint64_t address, uint32_t handle, size_t length)
{
	uint64_t start = address >> UNWIND_PAGE_SHIFT << UNWIND_PAGE_SHIFT;

	if (is_of(&rules->page_place, file, start))
		return true;
	rules->page_place.number = 0;
	if (length > sizeof(rules->page) || memory_read(memory, handle, rules->page, length))
		return false;
	rules->page_place = (struct found_rule){ .address = start, .number = file + 1 };
	return true;
}

int32_t found_rules_find(struct found_rules *rules, const struct memory *memory, uint32_t file,
			 uint64_t address, uint32_t handle, size_t length)
{
	struct found_rule *slot = slot_of(rules, file, address);
	int32_t rule;

	if (is_of(slot, file, address))
		return (int32_t)slot->rule;
	if (!read_page(rules, memory, file, address, handle, length))
		return -1;
	rule = page_layout_find(rules->page, length, address);
	if (rule >= 0)
		*slot = (struct found_rule){ address, file + 1, (uint32_t)rule };
	return rule;
}
