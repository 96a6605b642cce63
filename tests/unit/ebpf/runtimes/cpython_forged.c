// SPDX-License-Identifier: Apache-2.0
#include "cpython_forged.h"

#include "cpython_words.h"

#include <stdlib.h>
#include <string.h>

enum { COMPACT = 1 << 5, ASCII = 1 << 6 };

static bool read_forged(void *context, uint64_t address, void *to, size_t bytes)
{
	struct forged *forged = context;

	forged->reads++;
	forged->read_bytes += bytes;
	if (forged->before)
		forged->before(forged, forged->reads);
	if (forged->reads > forged->most_reads || address < forged->start || bytes > forged->used ||
	    address - forged->start > forged->used - bytes)
		return false;
	memcpy(to, forged->bytes + (address - forged->start), bytes);
	return true;
}

static void renew_forged(void *context)
{
	(void)context;
}

struct runtime_memory forged_memory(struct forged *forged)
{
	return (struct runtime_memory){ read_forged, renew_forged, forged };
}

static void set_offsets(struct cpython_layout *layout, uint32_t minor)
{
	const uint64_t *words = minor == FORGED_13T ? cpython_words_13t
				: minor == 13       ? cpython_words_13
				: minor == 14       ? cpython_words_14
						    : cpython_words_15;

	if (minor == FORGED_13T)
		minor = 13;
	*layout = (struct cpython_layout){ .version = 3u << 24 | minor << 16 };
	if (minor >= 11)
		layout->version |= 0x4f0;
	if (minor <= 12)
		layout->offsets = *cpython_known_offsets(minor);
	else if (!cpython_told_offsets(minor, words, CPYTHON_WORDS, &layout->offsets))
		abort();
}

void forged_init(struct forged *forged, uint32_t minor)
{
	// The rest of its bytes is 0 still.
	memset(forged->bytes, 0, forged->used);
	memset(forged, 0, offsetof(struct forged, bytes));
	set_offsets(&forged->layout, minor);
	forged->start = 0x7f5500001000;
	forged->most_reads = SIZE_MAX;
	forged->code_type = forged_type(forged, "code");
	forged->text_type = forged_type(forged, "str");
	forged->bytes_type = forged_type(forged, "bytes");
}

uint64_t forged_room(struct forged *forged, size_t bytes)
{
	size_t at = forged->used;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > FORGED_BYTES - at)
		abort();
	forged->used += bytes;
	return forged->start + at;
}

uint8_t *forged_at(struct forged *forged, uint64_t address)
{
	if (address < forged->start || address - forged->start >= forged->used)
		abort();
	return forged->bytes + (address - forged->start);
}

void forged_put_word(struct forged *forged, uint64_t address, uint64_t word)
{
	memcpy(forged_at(forged, address), &word, sizeof(word));
}

void forged_put_int(struct forged *forged, uint64_t address, uint32_t number)
{
	memcpy(forged_at(forged, address), &number, sizeof(number));
}

uint64_t forged_type(struct forged *forged, const char *name)
{
	uint64_t text = forged_room(forged, strlen(name) + 1), type = forged_room(forged, 64);

	memcpy(forged_at(forged, text), name, strlen(name) + 1);
	forged_put_word(forged, type + forged->layout.offsets.type_name, text);
	return type;
}

uint64_t forged_text(struct forged *forged, const uint32_t *characters, size_t count, size_t width)
{
	const struct cpython_offsets *offsets = &forged->layout.offsets;
	uint64_t text = forged_room(forged, 80 + count * width), data;
	bool ascii = width == 1;

	for (size_t i = 0; i < count; i++)
		ascii = ascii && characters[i] < 0x80;
	data = text + (ascii ? offsets->text_ascii : offsets->text_compact);
	forged_put_word(forged, text + offsets->object_type, forged->text_type);
	forged_put_word(forged, text + offsets->text_length, count);
	forged_put_int(forged, text + offsets->text_state,
		       1 | (uint32_t)width << 2 | COMPACT | (ascii ? ASCII : 0));
	for (size_t i = 0; i < count; i++)
		memcpy(forged_at(forged, data + i * width), &characters[i], width);
	return text;
}

uint64_t forged_ascii(struct forged *forged, const char *text)
{
	uint32_t characters[8192];
	size_t count = strlen(text);

	if (count > sizeof(characters) / sizeof(*characters))
		abort();
	for (size_t i = 0; i < count; i++)
		characters[i] = (uint8_t)text[i];
	return forged_text(forged, characters, count, 1);
}

uint64_t forged_data(struct forged *forged, const void *bytes, size_t count)
{
	uint64_t data = forged_room(forged, forged->layout.offsets.bytes_data + count + 1);

	forged_put_word(forged, data + forged->layout.offsets.object_type, forged->bytes_type);
	forged_put_word(forged, data + forged->layout.offsets.bytes_length, count);
	if (count)
		memcpy(forged_at(forged, data + forged->layout.offsets.bytes_data), bytes, count);
	return data;
}

void forged_refer(struct forged *forged, uint64_t object, uint32_t references)
{
	if (forged->layout.offsets.flags & CPYTHON_FREE_THREADED)
		forged_put_int(forged, object + 12, references);
	else
		forged_put_word(forged, object, references);
}

uint64_t forged_code(struct forged *forged, uint64_t name, uint64_t file, uint64_t lines,
		     uint32_t first)
{
	const struct cpython_offsets *offsets = &forged->layout.offsets;
	uint64_t code = forged_room(forged, 256);

	forged_refer(forged, code, 3);
	forged_put_word(forged, code + offsets->object_type, forged->code_type);
	forged_put_word(forged, code + offsets->code_name, name);
	forged_put_word(forged, code + offsets->code_qualname, name);
	forged_put_word(forged, code + offsets->code_filename, file);
	forged_put_word(forged, code + offsets->code_linetable, lines);
	forged_put_int(forged, code + offsets->code_firstlineno, first);
	return code;
}

uint32_t forged_check(struct forged *forged, uint64_t code)
{
	const struct cpython_offsets *offsets = &forged->layout.offsets;
	uint64_t mixed = 0, word;

	for (size_t i = 0; i < offsets->code_check_words; i++) {
		memcpy(&word, forged_at(forged, code + offsets->code_check + 8 * i), sizeof(word));
		mixed = cpython_mix(mixed, word);
	}
	return (uint32_t)mixed;
}
