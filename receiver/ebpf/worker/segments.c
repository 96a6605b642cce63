// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

const struct worker_segment *worker_find_segment(const struct worker_segment *segments,
						 size_t count, uint64_t file_offset)
{
	const struct worker_segment *found = NULL;

	// Linkers let segments share a page, so that an offset can lie in code and in data.
	for (size_t i = 0; i < count; i++) {
		const struct worker_segment *segment = &segments[i];

		if (file_offset < segment->file_offset ||
		    file_offset - segment->file_offset >= segment->file_bytes)
			continue;
		if (segment->executable)
			return segment;
		if (!found)
			found = segment;
	}
	return found;
}
