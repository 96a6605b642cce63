/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of V8's (src/objects/string.h): one or two bytes a character, in one piece or in several.
 * One thread at a time. */
#pragma once

#include "heap.h"

enum { V8_TEXT_BYTES = 4096 };

struct v8_text {
	char bytes[V8_TEXT_BYTES]; /* UTF-8, cut where it is longer */
	size_t length;
	bool is_odd; /* it has characters that no name has */
};

/* Is it one? */
bool v8_is_text(const struct v8_heap *heap, uint64_t object);

/* Where the characters of a string lie, if they are in one piece. */
struct v8_characters {
	uint64_t address;
	uint64_t length; /* characters */
	bool wide;       /* of two bytes each */
};

/* False: they are not, or it is no string. */
bool v8_find_characters(const struct v8_heap *heap, uint64_t object, struct v8_characters *ret);

/* Appends the string to @text. RUNTIME_NAMED, or why not. */
enum runtime_outcome v8_append_text(const struct v8_heap *heap, uint64_t object,
				    struct v8_text *text);

/* Appends as much as there is room for. */
void v8_append(struct v8_text *text, const char *bytes, size_t length);

/* Character @index of those at @bytes, which has it: of two bytes each if @wide, else of one. */
uint32_t v8_character_at(const uint8_t *bytes, size_t index, bool wide);
