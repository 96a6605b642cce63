// SPDX-License-Identifier: Apache-2.0
#include "regexp.h"

#include "code.h"

#include "base/base.h"

#include <string.h>

enum {
	CODES = 2,           /* for texts of one byte a character, and of two */
	WRAPPED = 8,         /* where what stands for code has it */
	SOURCE_BYTES = 1024, /* that are shown, as by V8 itself */
};

bool v8_is_regexp_at(const struct v8_heap *heap, uint64_t data, uint64_t address)
{
	const struct v8_layout *layout = heap->layout;

	if (!layout->offsets.regexp_code || !v8_is(heap, data, layout->types.regexp_data))
		return false;
	for (uint64_t i = 0; i < CODES; i++) {
		uint64_t code;

		if (!v8_word(heap, data, layout->offsets.regexp_code + 8 * i, &code))
			return false;
		// From Node.js 22 on there may be something in between.
		if (!v8_is(heap, code, layout->types.code) && !v8_word(heap, code, WRAPPED, &code))
			continue;
		if (v8_is(heap, code, layout->types.code) && v8_code_holds(heap, code, address))
			return true;
	}
	return false;
}

bool v8_name_regexp(const struct v8_heap *heap, uint64_t data, struct v8_text *text)
{
	static const char before[] = "RegExp: ", cut[] = "...";
	const size_t most = sizeof(before) - 1 + SOURCE_BYTES;
	uint64_t source;

	v8_append(text, before, sizeof(before) - 1);
	if (!v8_word(heap, data, heap->layout->offsets.regexp_source, &source) ||
	    !v8_is_text(heap, source) || v8_append_text(heap, source, text) != RUNTIME_NAMED)
		return false;
	if (text->length > most) {
		text->length = strings_cut_utf8(text->bytes, text->length, most);
		v8_append(text, cut, sizeof(cut) - 1);
	}
	return true;
}
