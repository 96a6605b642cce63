// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <string.h>

enum { PAGE_BYTES = 4096 };

const struct runtime_area *runtime_areas_at(const struct runtime_found *found, uint64_t start,
					    uint64_t *until)
{
	for (size_t i = 0; i < found->area_count; i++) {
		const struct runtime_area *area = &found->areas[i];
		uint64_t edge = area->start > start ? area->start : area->limit;

		if (area->limit <= start)
			continue;
		if (edge < *until)
			*until = edge;
		return area->start == start || area->start == RUNTIME_ANYWHERE ? area : NULL;
	}
	return NULL;
}

bool runtime_areas_hold(const struct runtime_found *found, uint64_t address)
{
	for (size_t i = 0; i < found->area_count; i++)
		if (address >= found->areas[i].start && address < found->areas[i].limit)
			return true;
	return false;
}

static bool areas_check(const struct runtime_found *found)
{
	uint64_t from = 0;

	if (found->area_count > RUNTIME_AREAS)
		return false;
	for (size_t i = 0; i < found->area_count; i++) {
		const struct runtime_area *area = &found->areas[i];

		if (area->start < from || area->limit <= area->start ||
		    area->limit > UNWIND_ADDRESS_LIMIT || area->start % PAGE_BYTES ||
		    area->limit % PAGE_BYTES)
			return false;
		from = area->limit;
	}
	return true;
}

bool runtime_found_check(struct runtime_found *found)
{
	if (found->refused >= RUNTIME_REFUSALS || found->complete > 1 || !areas_check(found))
		return false;
	if (found->data_bytes &&
	    (found->data_bytes < sizeof(struct runtime_data) ||
	     found->data_bytes > sizeof(found->data) || found->data_bytes % sizeof(uint64_t)))
		return false;
	if (found->refused && (found->area_count || found->data_bytes || found->progress))
		return false;
	found->version[RUNTIME_VERSION_BYTES - 1] = '\0';
	for (char *at = found->version; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return true;
}

bool runtime_read_words(const struct runtime_memory *memory, const uint64_t *addresses,
			size_t count, uint64_t *words)
{
	for (size_t i = 0; i < count; i++)
		if (!memory->read(memory->context, addresses[i], &words[i], sizeof(words[i])))
			return false;
	return true;
}
