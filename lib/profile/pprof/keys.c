// SPDX-License-Identifier: Apache-2.0
#include "keys.h"

#include <string.h>

bool attribute_find(const struct profcol_batch *batch, uint32_t list, const char *key,
		    enum profcol_value_type type, struct profcol_value *ret)
{
	size_t length = strlen(key);
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);
		struct profcol_text text;

		if (attribute.value.type != type)
			continue;
		text = profcol_batch_string(batch, attribute.key);
		if (text.length == length && memcmp(text.bytes, key, length) == 0) {
			*ret = attribute.value;
			return true;
		}
	}
	return false;
}
