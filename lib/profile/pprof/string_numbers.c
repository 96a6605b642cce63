// SPDX-License-Identifier: Apache-2.0
#include "string_numbers.h"

#include <string.h>
#include <sys/random.h>

struct lookup {
	const struct string_numbers *strings;
	struct profcol_text text;
};

static bool lookup_equal(uint32_t number, const void *context)
{
	const struct lookup *lookup = context;
	const struct profcol_text *text = &lookup->strings->texts.items[number];

	return text->length == lookup->text.length &&
	       memcmp(text->bytes, lookup->text.bytes, text->length) == 0;
}

static uint32_t push(struct string_numbers *strings, struct profcol_text text)
{
	if (strings->texts.count >= INT32_MAX || !VECTOR_PUSH(&strings->texts, text)) {
		strings->failed = true;
		return 0;
	}
	return (uint32_t)strings->texts.count - 1;
}

void string_numbers_init(struct string_numbers *strings, const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_STRINGS);

	*strings = (struct string_numbers){ .batch = batch };
	if (getrandom(&strings->seed, sizeof(strings->seed), GRND_NONBLOCK) < 0)
		strings->seed = clock_monotonic_ns();
	strings->arena = arena_create(0);
	strings->numbers = calloc(count ? count : 1, sizeof(*strings->numbers));
	strings->failed = !strings->arena || !strings->numbers;
	push(strings, (struct profcol_text){ .bytes = "" });
}

void string_numbers_deinit(struct string_numbers *strings)
{
	free(strings->numbers);
	VECTOR_DEINIT(&strings->texts);
	intern_deinit(&strings->index);
	arena_destroy(strings->arena);
}

/* The number of @text; copied when new if @copy. */
static uint32_t intern_text(struct string_numbers *strings, struct profcol_text text, bool copy)
{
	struct lookup lookup = { .strings = strings, .text = text };
	uint32_t hash, number;

	if (!text.length || strings->failed)
		return 0;
	hash = intern_hash_seeded(text.bytes, text.length, strings->seed);
	number = intern_find(&strings->index, hash, lookup_equal, &lookup);
	if (number != INTERN_MISSING)
		return number;
	if (copy)
		text.bytes = arena_strndup(strings->arena, text.bytes, text.length);
	number = text.bytes ? push(strings, text) : 0;
	if (!number || !intern_insert(&strings->index, hash, number))
		strings->failed = true;
	return number;
}

uint32_t string_numbers_get(struct string_numbers *strings, uint32_t id)
{
	if (!id || strings->failed)
		return 0;
	if (!strings->numbers[id])
		strings->numbers[id] =
			intern_text(strings, profcol_batch_string(strings->batch, id), false);
	return strings->numbers[id];
}

uint32_t string_numbers_add(struct string_numbers *strings, const char *bytes, size_t length)
{
	return intern_text(strings, (struct profcol_text){ bytes, length }, true);
}

uint32_t string_numbers_empty_value(struct string_numbers *strings)
{
	if (!strings->empty_value)
		strings->empty_value = push(strings, (struct profcol_text){ .bytes = "" });
	return strings->empty_value;
}
