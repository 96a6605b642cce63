// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "base/base.h"

#include <limits.h>
#include <string.h>

uint32_t text_string(struct profcol_builder *builder, const char *text)
{
	char clean[PATH_MAX];
	size_t length = strnlen(text, sizeof(clean) - 1);

	strings_sanitize_utf8(clean, text, length);
	return profcol_builder_string(builder, clean, length);
}

uint32_t text_attribute(struct profcol_builder *builder, const char *key, const char *text)
{
	struct profcol_attribute attribute = {
		.key = profcol_builder_cstring(builder, key),
		.value = { .type = PROFCOL_VALUE_STRING, .string = text_string(builder, text) },
	};

	return profcol_builder_attribute(builder, &attribute);
}
