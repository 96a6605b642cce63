/* SPDX-License-Identifier: Apache-2.0 */
/* Names and paths of profiled programs are bytes; what leaves is UTF-8. */
#pragma once

#include <profcol/batch.h>

/* The string id of @text, what is not UTF-8 replaced, cut at PATH_MAX. Any thread. */
uint32_t text_string(struct profcol_builder *builder, const char *text);

/* The id of the attribute @key, which is UTF-8, with such a string as its value. */
uint32_t text_attribute(struct profcol_builder *builder, const char *key, const char *text);
