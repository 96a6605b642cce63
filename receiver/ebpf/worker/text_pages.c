// SPDX-License-Identifier: Apache-2.0
#include "text_pages.h"

#include "sample.h"

struct text_pages text_pages_find(const struct worker_segment *segments, size_t count)
{
	struct text_pages text = { .first = UINT32_MAX };

	for (size_t i = 0; i < count; i++) {
		const struct worker_segment *segment = &segments[i];
		uint64_t first, last;

		if (!segment->executable || !segment->file_bytes)
			continue;
		first = segment->address >> UNWIND_PAGE_SHIFT;
		last = (segment->address + segment->file_bytes - 1) >> UNWIND_PAGE_SHIFT;
		if (last >= UINT32_MAX)
			return (struct text_pages){ 0 };
		if (first < text.first)
			text.first = (uint32_t)first;
		if (last >= text.limit)
			text.limit = (uint32_t)last + 1;
	}
	return text.limit ? text : (struct text_pages){ 0 };
}

size_t text_pages_wanted(const struct text_pages *text, size_t asked_count)
{
	uint32_t span = text->limit - text->first;

	if (asked_count)
		return asked_count;
	return span <= WORKER_SMALL_PAGES ? span : 0;
}
