// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

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
		return area->start == start ? area : NULL;
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
