// SPDX-License-Identifier: Apache-2.0
#include "found_rules.h"

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
	memset(rules->page + length, 0, sizeof(rules->page) - length);
	rules->page_place = (struct found_rule){ .address = start, .number = file + 1 };
	return true;
}

/* In the page that was read (bpf/unwind_tables.h). */
static int32_t find_row(const struct found_rules *rules, uint64_t address)
{
	size_t block = address >> UNWIND_BLOCK_SHIFT & (UNWIND_BLOCKS - 1);
	uint16_t row, limit;
	uint32_t bits = 0;

	memcpy(&row, rules->page + 2 * block, sizeof(row));
	memcpy(&limit, rules->page + 2 * (block + 1), sizeof(limit));
	if (row >= limit || limit > UNWIND_PAGE_ROWS)
		return -1;
	for (uint32_t i = row; i < limit; i++) {
		uint32_t next;

		memcpy(&next, rules->page + UNWIND_PAGE_HEAD_BYTES + 4 * i, sizeof(next));
		if (i > row && (next & 0xff) > (address & 0xff))
			break;
		bits = next;
	}
	return (int32_t)(bits >> 16);
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
	rule = find_row(rules, address);
	if (rule >= 0)
		*slot = (struct found_rule){ address, file + 1, (uint32_t)rule };
	return rule;
}
