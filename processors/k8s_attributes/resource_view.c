// SPDX-License-Identifier: Apache-2.0
#include "resource_view.h"

#include <string.h>

struct resource_view resource_view_of(const struct profcol_batch *batch, uint32_t row)
{
	struct profcol_range scopes;
	struct profcol_resource resource = profcol_batch_resource(batch, row, &scopes);
	struct resource_view view = { .batch = batch };

	view.attributes = profcol_batch_attribute_list(batch, resource.attributes, &view.count);
	return view;
}

bool resource_view_find(const struct resource_view *view, const char *key,
			struct profcol_value *ret)
{
	size_t length = strlen(key);

	for (uint32_t i = 0; i < view->count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(view->batch, view->attributes[i]);
		struct profcol_text text = profcol_batch_string(view->batch, attribute.key);

		if (text.length == length && !memcmp(text.bytes, key, length)) {
			*ret = attribute.value;
			return true;
		}
	}
	return false;
}

struct profcol_text resource_view_text(const struct resource_view *view, const char *key)
{
	struct profcol_value value;

	if (!resource_view_find(view, key, &value) || value.type != PROFCOL_VALUE_STRING)
		return (struct profcol_text){ "", 0 };
	return profcol_batch_string(view->batch, value.string);
}
