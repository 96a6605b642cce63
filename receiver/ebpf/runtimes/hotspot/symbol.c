// SPDX-License-Identifier: Apache-2.0
#include "symbol.h"

#include <string.h>

enum {
	REPLACEMENT = 0xfffd,
	SURROGATES = 0xd800, /* high ones from here on */
	LOW_SURROGATES = 0xdc00,
	SURROGATES_LIMIT = 0xe000,
};

static const char LAMBDA[] = "$$Lambda";

void hotspot_text_append(struct hotspot_text *to, const char *text, size_t length)
{
	if (length > sizeof(to->bytes) - to->length)
		length = sizeof(to->bytes) - to->length;
	memcpy(to->bytes + to->length, text, length);
	to->length += length;
}

/* ---- modified UTF-8 ---- */

static bool is_more(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/*
 * The UTF-16 unit at @at of @from, which has @length bytes; returns how many bytes it takes. Two
 * bytes of 0 are a NUL, which no name shows.
 */
static size_t take_unit(const uint8_t *from, size_t length, size_t at, uint32_t *ret)
{
	const uint8_t *bytes = from + at;

	*ret = REPLACEMENT;
	if (bytes[0] && bytes[0] < 0x80) {
		*ret = bytes[0];
		return 1;
	}
	if ((bytes[0] & 0xe0) == 0xc0 && at + 1 < length && is_more(bytes[1])) {
		uint32_t unit = (uint32_t)(bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f);

		*ret = unit ? unit : REPLACEMENT;
		return 2;
	}
	if ((bytes[0] & 0xf0) == 0xe0 && at + 2 < length && is_more(bytes[1]) &&
	    is_more(bytes[2])) {
		*ret = (uint32_t)(bytes[0] & 0x0f) << 12 | (uint32_t)(bytes[1] & 0x3f) << 6 |
		       (bytes[2] & 0x3f);
		return 3;
	}
	return 1;
}

/* The character at @at: two surrogates are one. */
static size_t take_character(const uint8_t *from, size_t length, size_t at, uint32_t *ret)
{
	size_t taken = take_unit(from, length, at, ret), more;
	uint32_t low;

	if (*ret < SURROGATES || *ret >= SURROGATES_LIMIT)
		return taken;
	if (*ret < LOW_SURROGATES && at + taken < length) {
		more = take_unit(from, length, at + taken, &low);
		if (low >= LOW_SURROGATES && low < SURROGATES_LIMIT) {
			*ret = 0x10000 + ((*ret - SURROGATES) << 10) + (low - LOW_SURROGATES);
			return taken + more;
		}
	}
	*ret = REPLACEMENT;
	return taken;
}

bool hotspot_text_character(struct hotspot_text *to, uint32_t character)
{
	const uint8_t marks[] = { 0, 0xc0, 0xe0, 0xf0 };
	uint8_t bytes[4];
	size_t count;

	if (character >= SURROGATES && character < SURROGATES_LIMIT)
		character = REPLACEMENT;
	count = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	if (count > sizeof(to->bytes) - to->length)
		return false;
	for (size_t i = count; i--; character >>= 6)
		bytes[i] = (uint8_t)(i ? 0x80 | (character & 0x3f) : marks[count - 1] | character);
	memcpy(to->bytes + to->length, bytes, count);
	to->length += count;
	return true;
}

enum runtime_outcome hotspot_read_symbol(const struct hotspot_offsets *offsets,
					 const struct runtime_memory *memory, uint64_t address,
					 struct hotspot_text *ret)
{
	uint8_t bytes[HOTSPOT_TEXT_BYTES];
	uint32_t character;
	uint16_t length;

	ret->length = 0;
	if (!memory->read(memory->context, address + offsets->of[HOTSPOT_SYMBOL_LENGTH], &length,
			  sizeof(length)))
		return RUNTIME_UNREADABLE;
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	if (!memory->read(memory->context, address + offsets->of[HOTSPOT_SYMBOL_BODY], bytes,
			  length))
		return RUNTIME_UNREADABLE;
	for (size_t at = 0; at < length;) {
		at += take_character(bytes, length, at, &character);
		if (!hotspot_text_character(ret, character))
			break;
	}
	return ret->length ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

bool hotspot_is_symbol(const struct hotspot_offsets *offsets, const struct runtime_memory *memory,
		       uint64_t address, const char *name)
{
	size_t bytes = strlen(name);
	char found[64];
	uint16_t length;

	return bytes <= sizeof(found) &&
	       memory->read(memory->context, address + offsets->of[HOTSPOT_SYMBOL_LENGTH], &length,
			    sizeof(length)) &&
	       length == bytes &&
	       memory->read(memory->context, address + offsets->of[HOTSPOT_SYMBOL_BODY], found,
			    bytes) &&
	       !memcmp(found, name, bytes);
}

/* ---- names of classes ---- */

static bool is_hexadecimal(char letter)
{
	return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
}

static bool is_decimal(char letter)
{
	return letter >= '0' && letter <= '9';
}

/* How long @name is without the characters that @is_one takes at its end. */
static size_t length_without(const struct hotspot_text *name, bool (*is_one)(char))
{
	size_t length = name->length;

	while (length && is_one(name->bytes[length - 1]))
		length--;
	return length;
}

static bool ends_with(const struct hotspot_text *name, size_t length, const char *end)
{
	size_t bytes = strlen(end);

	return length >= bytes && !memcmp(name->bytes + length - bytes, end, bytes);
}

void hotspot_mask_class(struct hotspot_text *name)
{
	size_t length = length_without(name, is_hexadecimal);

	if (length < name->length &&
	    (ends_with(name, length, "+0x") || ends_with(name, length, "/0x")))
		name->length = length - strlen("+0x");
	length = length_without(name, is_decimal);
	if (length < name->length && length && name->bytes[length - 1] == '$' &&
	    ends_with(name, length - 1, LAMBDA))
		name->length = length - 1;
}
