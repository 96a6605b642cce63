// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "base/base.h"

#include <string.h>

enum {
	DEPTH = 32, /* strings of strings */
	STEPS = 64, /* the same: those that stand for another one */
	REPLACEMENT = 0xfffd,
	UNCACHED = 1 << 4, /* of an external string: only its owner knows where it is */
};

bool v8_is_text(const struct v8_heap *heap, uint64_t object)
{
	int32_t type = v8_type(heap, object);

	return type >= 0 && type < heap->layout->values.strings_end;
}

/* As UTF-8, if there is room. */
static bool append_character(struct v8_text *text, uint32_t character)
{
	char bytes[4];
	size_t count = character ? strings_encode_utf8(character, bytes) : 0;

	// A character 0, or half a pair.
	text->is_odd |= !count;
	if (!count)
		count = strings_encode_utf8(REPLACEMENT, bytes);
	if (count > sizeof(text->bytes) - text->length)
		return false;
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
	return true;
}

void v8_append(struct v8_text *text, const char *bytes, size_t length)
{
	size_t room = sizeof(text->bytes) - text->length;

	if (length > room)
		length = room;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

uint32_t v8_character_at(const uint8_t *bytes, size_t index, bool wide)
{
	uint16_t character;

	if (!wide)
		return bytes[index];
	memcpy(&character, bytes + 2 * index, sizeof(character));
	return character;
}

/* Pairs of surrogates are one character. */
static void append_characters(struct v8_text *text, const uint8_t *bytes, size_t count, bool wide)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t character = v8_character_at(bytes, i, wide);

		if (character >> 10 == 0xd800 >> 10 && i + 1 < count) {
			uint32_t next = v8_character_at(bytes, i + 1, wide);

			if (next >> 10 == 0xdc00 >> 10) {
				character = 0x10000 + ((character & 0x3ff) << 10 | (next & 0x3ff));
				i++;
			}
		}
		if (!append_character(text, character))
			return;
	}
}

/* One step towards the characters of *@object, of which those from *@from on count: 1, at them;
 * 0: at another string; -1: it is of another form, or none. */
static int step(const struct v8_heap *heap, int32_t type, uint64_t *object, uint64_t *from,
		struct v8_characters *ret)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	const struct v8_values *values = &heap->layout->values;
	uint32_t form = (uint32_t)type & values->representation;
	uint64_t word = 0;

	ret->wide = (type & values->encoding) != values->one_byte;
	if (!form) {
		ret->address = *object - V8_TAG +
			       (ret->wide ? at->two_byte_chars : at->one_byte_chars) +
			       (*from << ret->wide);
		return 1;
	}
	if (form == values->external) {
		if (type & UNCACHED || !v8_word(heap, *object, at->external_data, &ret->address))
			return -1;
		ret->address += *from << ret->wide;
		return 1;
	}
	if (form == values->thin)
		return v8_word(heap, *object, at->thin_actual, object) ? 0 : -1;
	if (form != values->sliced || !v8_word(heap, *object, at->sliced_offset, &word) ||
	    !v8_is_number(word) || v8_number(word) < 0)
		return -1;
	*from += (uint32_t)v8_number(word);
	return v8_word(heap, *object, at->sliced_parent, object) ? 0 : -1;
}

bool v8_find_characters(const struct v8_heap *heap, uint64_t object, struct v8_characters *ret)
{
	uint64_t from = 0, second;
	uint32_t length;

	if (!v8_half(heap, object, heap->layout->offsets.string_length, &length))
		return false;
	ret->length = length;
	for (int i = 0; i < STEPS; i++) {
		int32_t type = v8_type(heap, object);
		const struct v8_values *values = &heap->layout->values;
		int end;

		if (type < 0 || type >= values->strings_end || from >> 32)
			return false;
		// One of two that was flattened has nothing in the second.
		if (((uint32_t)type & values->representation) == values->cons) {
			uint32_t rest;

			if (!v8_word(heap, object, heap->layout->offsets.cons_second, &second) ||
			    !v8_half(heap, second, heap->layout->offsets.string_length, &rest) ||
			    rest ||
			    !v8_word(heap, object, heap->layout->offsets.cons_first, &object))
				return false;
			continue;
		}
		end = step(heap, type, &object, &from, ret);
		if (end)
			return end > 0;
	}
	return false;
}

static enum runtime_outcome append_piece(const struct v8_heap *heap,
					 const struct v8_characters *piece, struct v8_text *text)
{
	uint8_t bytes[V8_TEXT_BYTES];
	size_t count = piece->length;

	if (count > sizeof(bytes) >> piece->wide)
		count = sizeof(bytes) >> piece->wide;
	if (count &&
	    !heap->memory->read(heap->memory->context, piece->address, bytes, count << piece->wide))
		return RUNTIME_UNREADABLE;
	append_characters(text, bytes, count, piece->wide);
	return RUNTIME_NAMED;
}

enum runtime_outcome v8_append_text(const struct v8_heap *heap, uint64_t object,
				    struct v8_text *text)
{
	uint64_t waiting[DEPTH];
	size_t count = 1;

	waiting[0] = object;
	for (int i = 0; count && i < STEPS; i++) {
		const struct v8_offsets *at = &heap->layout->offsets;
		struct v8_characters piece;
		enum runtime_outcome outcome;
		uint64_t first, second;

		object = waiting[--count];
		if (!v8_is_text(heap, object))
			return RUNTIME_MALFORMED;
		if (v8_find_characters(heap, object, &piece)) {
			outcome = append_piece(heap, &piece, text);
			if (outcome != RUNTIME_NAMED)
				return outcome;
			continue;
		}
		if (((uint32_t)v8_type(heap, object) & heap->layout->values.representation) !=
		    heap->layout->values.cons)
			return RUNTIME_MALFORMED;
		if (!v8_word(heap, object, at->cons_first, &first) ||
		    !v8_word(heap, object, at->cons_second, &second))
			return RUNTIME_UNREADABLE;
		if (count + 2 > DEPTH)
			return RUNTIME_MALFORMED;
		waiting[count++] = second;
		waiting[count++] = first;
	}
	return RUNTIME_NAMED;
}
