// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "base/base.h"

#include <string.h>

enum {
	/* Of builds without the GIL: the count of references of the thread that owns it, and that
	 * of others, above two bits. */
	OWN_REFERENCES = 12,
	SHARED_REFERENCES = 16,
	SHARED_SHIFT = 2,
	/* Bits of the state: 2 of how it is interned, 3 of how many bytes a character has, then
	 * whether the characters follow, and whether they are ASCII alone. */
	STATE_KIND_SHIFT = 2,
	STATE_KIND_MASK = 7,
	STATE_COMPACT = 1 << 5,
	STATE_ASCII = 1 << 6,
	REPLACEMENT = 0xfffd,
};

static bool read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return memory->read(memory->context, address, ret, sizeof(*ret));
}

bool cpython_is_of_type(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
			uint64_t address, const char *name)
{
	uint64_t type, text;
	char found[8] = "";
	size_t bytes = strlen(name) + 1;

	return bytes <= sizeof(found) && read_word(memory, address + offsets->object_type, &type) &&
	       read_word(memory, type + offsets->type_name, &text) &&
	       memory->read(memory->context, text, found, bytes) && !memcmp(found, name, bytes);
}

/* As UTF-8, if there is room. */
static bool append(struct cpython_text *text, uint32_t character)
{
	char bytes[4];
	size_t count = character ? strings_encode_utf8(character, bytes) : 0;

	if (!count)
		count = strings_encode_utf8(REPLACEMENT, bytes);
	if (count > sizeof(text->bytes) - text->length)
		return false;
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
	return true;
}

/* @characters of @width bytes each. */
static void take_characters(const uint8_t *from, size_t characters, size_t width,
			    struct cpython_text *ret)
{
	for (size_t i = 0; i < characters; i++) {
		uint32_t character = 0;

		// Little endian, as are all machines that this runs on.
		memcpy(&character, from + i * width, width);
		if (!append(ret, character))
			return;
	}
}

/*
 * Does anybody refer to the object at @address? Its first word counts references, in the low half,
 * with flags in the highest 16 bits from 3.14 on. When memory is freed, a pointer is written there,
 * or NULL, or one where the type was; the rest stays as it was.
 */
static bool is_referred_to(const struct runtime_memory *memory, uint64_t address)
{
	uint64_t references;

	return read_word(memory, address, &references) && (uint32_t)references &&
	       !(references >> 32 & 0xffff);
}

/* The same without the GIL: there are two counts. */
static bool is_referred_to_by_threads(const struct runtime_memory *memory, uint64_t address)
{
	uint64_t shared;
	uint32_t own;

	return memory->read(memory->context, address + OWN_REFERENCES, &own, sizeof(own)) &&
	       read_word(memory, address + SHARED_REFERENCES, &shared) &&
	       (own || (int64_t)shared >> SHARED_SHIFT > 0);
}

bool cpython_is_alive(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
		      uint64_t address, const char *type)
{
	return (offsets->flags & CPYTHON_FREE_THREADED ? is_referred_to_by_threads(memory, address)
						       : is_referred_to(memory, address)) &&
	       cpython_is_of_type(offsets, memory, address, type);
}

enum runtime_outcome cpython_find_text(const struct cpython_offsets *offsets,
				       const struct runtime_memory *memory, uint64_t address,
				       struct cpython_text_place *ret)
{
	uint64_t length;
	uint32_t state, width;

	if (!read_word(memory, address + offsets->text_length, &length) ||
	    !memory->read(memory->context, address + offsets->text_state, &state, sizeof(state)))
		return RUNTIME_UNREADABLE;
	width = state >> STATE_KIND_SHIFT & STATE_KIND_MASK;
	if (!cpython_is_of_type(offsets, memory, address, "str") || !(state & STATE_COMPACT) ||
	    (width != 1 && width != 2 && width != 4) || length > INT64_MAX)
		return RUNTIME_MALFORMED;
	*ret = (struct cpython_text_place){
		.data = address +
			(state & STATE_ASCII ? offsets->text_ascii : offsets->text_compact),
		.characters = length,
		.width = width,
	};
	return RUNTIME_NAMED;
}

enum runtime_outcome cpython_read_text(const struct cpython_offsets *offsets,
				       const struct runtime_memory *memory, uint64_t address,
				       struct cpython_text *ret)
{
	uint8_t bytes[CPYTHON_TEXT_BYTES];
	struct cpython_text_place place;
	enum runtime_outcome outcome = cpython_find_text(offsets, memory, address, &place);

	ret->length = 0;
	if (outcome != RUNTIME_NAMED)
		return outcome;
	if (place.characters > sizeof(bytes) / place.width)
		place.characters = sizeof(bytes) / place.width;
	if (!memory->read(memory->context, place.data, bytes, place.characters * place.width))
		return RUNTIME_UNREADABLE;
	take_characters(bytes, place.characters, place.width, ret);
	return RUNTIME_NAMED;
}
