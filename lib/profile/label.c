// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <string.h>

uint32_t profile_location_label(const struct profcol_batch *batch,
				const struct profcol_location *location)
{
	uint32_t count;
	const uint32_t *ids;

	if (location->line_count)
		return 0;
	ids = profcol_batch_attribute_list(batch, location->attributes, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (attribute.value.type == PROFCOL_VALUE_STRING &&
		    !strcmp(profcol_batch_string(batch, attribute.key).bytes, PROFCOL_FRAME_LABEL))
			return attribute.value.string;
	}
	return 0;
}
