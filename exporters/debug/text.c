// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_deinit(struct text *text)
{
	free(text->bytes);
	*text = (struct text){ 0 };
}

/* Room for @bytes more, or the text is cut here. */
static bool text_reserve(struct text *text, size_t bytes)
{
	size_t wanted = text->length + bytes, capacity = text->capacity ? text->capacity : 4096;
	char *grown;

	if (text->cut || wanted > TEXT_MAX_BYTES) {
		text->cut = true;
		return false;
	}
	if (wanted <= text->capacity)
		return true;
	while (capacity < wanted)
		capacity *= 2;
	grown = realloc(text->bytes, capacity);
	if (!grown) {
		text->cut = true;
		return false;
	}
	text->bytes = grown;
	text->capacity = capacity;
	return true;
}

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0 || !text_reserve(text, (size_t)length + 1))
		return;
	va_start(arguments, format);
	vsnprintf(text->bytes + text->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	text->length += (size_t)length;
}

static void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
	if (!length || !text_reserve(text, length))
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

/* Bytes of the UTF-8 character at @at that a terminal may see as it is; 0 = none. */
static size_t text_printable(const char *at, size_t left)
{
	unsigned char first = (unsigned char)at[0];
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (length == 1)
		return first >= 0x20 && first != 0x7f;
	// U+0080 to U+009F are control characters too; U+009B begins escape sequences.
	if (length > left || (first == 0xc2 && (unsigned char)at[1] < 0xa0))
		return 0;
	return strings_is_utf8(at, length) ? length : 0;
}

void text_add_string(struct text *text, struct profcol_text string)
{
	size_t shown = string.length, at = 0;

	if (shown > TEXT_STRING_MAX_BYTES)
		shown = TEXT_STRING_MAX_BYTES;
	while (at < shown) {
		size_t run = 0, step;

		while (at + run < shown &&
		       (step = text_printable(string.bytes + at + run, string.length - at - run)))
			run += step;
		text_add_bytes(text, string.bytes + at, run);
		at += run;
		if (at >= shown)
			break;
		if (string.bytes[at] == '\n')
			text_add(text, "\\n");
		else if (string.bytes[at] == '\t')
			text_add(text, "\\t");
		else
			text_add(text, "\\x%02x", (unsigned char)string.bytes[at]);
		at++;
	}
	if (at < string.length)
		text_add(text, "... (%zu more bytes)", string.length - at);
}
