// SPDX-License-Identifier: Apache-2.0
#include "known_lines.h"

#include <stdlib.h>
#include <string.h>

void known_lines_deinit(struct known_lines *known)
{
	VECTOR_DEINIT(&known->places);
	VECTOR_DEINIT(&known->texts);
	intern_deinit(&known->index);
}

void known_lines_clear(struct known_lines *known)
{
	known->places.count = 0;
	known->texts.count = 0;
	intern_clear(&known->index);
}

size_t known_lines_memory(const struct known_lines *known)
{
	return known->places.capacity * sizeof(*known->places.items) +
	       known->texts.capacity * sizeof(*known->texts.items) + intern_memory(&known->index);
}

/* ---- text ---- */

struct text_match {
	const struct known_lines *known;
	const char *text;
};

static bool text_equal(uint32_t id, const void *context)
{
	const struct text_match *match = context;

	return !strcmp(match->known->texts.items[id], match->text);
}

/* The one copy of @text; NULL without memory. Many lines are of few files and functions. */
static const char *keep_text(struct known_lines *known, struct arena *arena, const char *text)
{
	const struct text_match match = { known, text };
	uint32_t hash = intern_hash(text, strlen(text));
	uint32_t id = intern_find(&known->index, hash, text_equal, &match);
	const char *copy;

	if (id != INTERN_MISSING)
		return known->texts.items[id];
	copy = arena_strdup(arena, text);
	if (!copy || !VECTOR_PUSH(&known->texts, copy))
		return NULL;
	if (!intern_insert(&known->index, hash, (uint32_t)known->texts.count - 1)) {
		known->texts.count--;
		return NULL;
	}
	return copy;
}

/* ---- places ---- */

static bool keep_line(struct known_lines *known, struct arena *arena, const char *text,
		      const struct worker_line *line, struct symbol_line *ret)
{
	*ret = (struct symbol_line){
		.function = keep_text(known, arena, text + line->function),
		.file = line->file ? keep_text(known, arena, text + line->file) : "",
		.line = line->line,
		.start_line = line->start_line,
	};
	return ret->function && ret->file;
}

static bool keep_place(struct known_lines *known, struct arena *arena,
		       const struct worker_answer *answer, const struct worker_line *lines,
		       const struct worker_named *named, struct known_place *place)
{
	struct symbol_line *kept;

	if (!named->line_count)
		return true;
	kept = arena_alloc(arena, named->line_count * sizeof(*kept));
	for (uint32_t i = 0; kept && i < named->line_count; i++)
		if (!keep_line(known, arena, answer->text, &lines[i], &kept[i]))
			return false;
	place->lines = kept;
	place->line_count = named->line_count;
	place->trace = named->trace;
	return kept;
}

/* The place of the first that is not before @address. */
static size_t seek(const struct known_lines *known, uint64_t address)
{
	size_t low = 0, high = known->places.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (known->places.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Put @count new ones, which ascend and are not known yet, where they belong; there is room. */
static void merge(struct known_lines *known, const struct known_place *fresh, size_t count)
{
	struct known_place *places = known->places.items;
	size_t old = known->places.count, at = old + count;

	known->places.count = at;
	while (count) {
		if (old && places[old - 1].address > fresh[count - 1].address)
			places[--at] = places[--old];
		else
			places[--at] = fresh[--count];
	}
}

bool known_lines_learn(struct known_lines *known, struct arena *arena,
		       const struct worker_answer *answer)
{
	CLEANUP_FREE struct known_place *fresh = calloc(answer->named_count + 1, sizeof(*fresh));
	bool complete = true;
	size_t line = 0;

	if (!fresh || !VECTOR_RESERVE(&known->places, answer->named_count))
		return false;
	for (size_t i = 0; i < answer->named_count; i++) {
		fresh[i].address = answer->offsets[i];
		complete &= keep_place(known, arena, answer, &answer->lines[line],
				       &answer->named[i], &fresh[i]);
		line += answer->named[i].line_count;
	}
	merge(known, fresh, answer->named_count);
	return complete;
}

const struct known_place *known_lines_find(const struct known_lines *known, uint64_t address)
{
	size_t at = seek(known, address);

	if (at == known->places.count || known->places.items[at].address != address)
		return NULL;
	return &known->places.items[at];
}
