// SPDX-License-Identifier: Apache-2.0
#include "found_rules.h"

#include "page_layout.h"

#include <stdlib.h>
#include <string.h>

static void drop_page(struct found_rules *found, struct found_page *page)
{
	found->page_bytes -= page->length;
	free(page->bytes);
	*page = (struct found_page){ 0 };
}

static void drop_pages(struct found_rules *found)
{
	for (size_t i = 0; i < FOUND_PAGES; i++)
		drop_page(found, &found->pages[i]);
}

void found_rules_clear(struct found_rules *found)
{
	memset(found->rules, 0, sizeof(found->rules));
	drop_pages(found);
}

void found_rules_deinit(struct found_rules *found)
{
	drop_pages(found);
}

static uint64_t hash_of(uint32_t file, uint64_t place)
{
	return (((file + 1ull) << UNWIND_FRAME_SHIFT ^ place) * 0x9e3779b97f4a7c15ull) >> 32;
}

/* NULL when it cannot be read. */
static const struct found_page *read_page(struct found_rules *found, const struct memory *memory,
					  uint32_t file, uint64_t address, uint32_t handle,
					  size_t length)
{
	uint64_t start = address >> UNWIND_PAGE_SHIFT << UNWIND_PAGE_SHIFT;
	uint64_t hash = hash_of(file, address >> UNWIND_PAGE_SHIFT);
	struct found_page *page = &found->pages[hash & (FOUND_PAGES - 1)];

	if (page->number == file + 1 && page->address == start && page->handle == handle)
		return page;
	drop_page(found, page);
	if (!length || length > UNWIND_OBJECT_BYTES)
		return NULL;
	// Those that are used are soon here again.
	if (found->page_bytes + length > found->most_bytes)
		drop_pages(found);
	page->bytes = malloc(length);
	if (!page->bytes || memory_read(memory, handle, page->bytes, length)) {
		free(page->bytes);
		page->bytes = NULL;
		return NULL;
	}
	page->address = start;
	page->number = file + 1;
	page->length = (uint32_t)length;
	page->handle = handle;
	found->page_bytes += length;
	return page;
}

int32_t found_rules_find(struct found_rules *found, const struct memory *memory, uint32_t file,
			 uint64_t address, uint32_t handle, size_t length)
{
	struct found_rule *slot = &found->rules[hash_of(file, address) & (FOUND_RULES - 1)];
	const struct found_page *page;
	int32_t rule;

	if (slot->number == file + 1 && slot->address == address)
		return (int32_t)slot->rule;
	page = read_page(found, memory, file, address, handle, length);
	if (!page)
		return -1;
	rule = page_layout_find(page->bytes, page->length, address);
	if (rule >= 0)
		*slot = (struct found_rule){ address, file + 1, (uint32_t)rule };
	return rule;
}
