// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <string.h>
#include <sys/random.h>

enum {
	MEMORY_MAX = 64 << 20,
	TEXT_MAX = 240, /* bytes of one that are kept */
	TEXTS_MAX = 1 << 18,
	FILES_MAX = 1 << 16,
	ITEMS_MAX = 1 << 19,
};

struct text_lookup {
	const struct places *places;
	const char *bytes;
};

static bool text_equal(uint32_t id, const void *context)
{
	const struct text_lookup *lookup = context;

	return !strcmp(lookup->places->texts.items[id].bytes, lookup->bytes);
}

/* Of valid UTF-8: those of ASCII, and U+0080 to U+009F, which terminals act on as well. */
static void replace_controls(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		if (*at < 0x20 || *at == 0x7f)
			*at = '?';
		else if (at[0] == 0xc2 && at[1] < 0xa0)
			at[0] = at[1] = '?';
	}
}

uint32_t places_add_text(struct places *places, const char *bytes, size_t length)
{
	char text[TEXT_MAX + 1];
	struct text_lookup lookup = { .places = places, .bytes = text };
	uint32_t hash, id;
	char *copy;

	if (!length)
		return 0;
	length = strings_cut_utf8(bytes, length, TEXT_MAX);
	strings_sanitize_utf8(text, bytes, length);
	replace_controls(text);
	hash = intern_hash_seeded(text, length, places->seed);
	id = intern_find(&places->text_index, hash, text_equal, &lookup);
	if (id != INTERN_MISSING)
		return id;
	copy = places->texts.count < TEXTS_MAX ? arena_strdup(places->memory, text) : NULL;
	id = (uint32_t)places->texts.count;
	if (!copy || !VECTOR_RESERVE(&places->texts, 1) ||
	    !intern_insert(&places->text_index, hash, id)) {
		places->refused++;
		return 0;
	}
	places->texts.items[places->texts.count++] = (struct places_text){ .bytes = copy };
	return id;
}

const char *places_text(const struct places *places, uint32_t id)
{
	return places->texts.items[id < places->texts.count ? id : 0].bytes;
}

/* ---- files ---- */

static uint32_t new_file(struct places *places, const char *name)
{
	if (places->files.count >= FILES_MAX ||
	    !VECTOR_PUSH(&places->files, places_add_text(places, name, strlen(name)))) {
		places->refused++;
		return PLACE_NO_FILE;
	}
	return (uint32_t)places->files.count - 1;
}

uint32_t places_add_file(struct places *places, const struct places_file *file)
{
	const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
	uint32_t texts[PLACES_FILE_IDS] = { 0 }, found = 0;

	for (size_t i = 0; i < PLACES_FILE_IDS; i++) {
		if (!file->ids[i])
			continue;
		texts[i] = places_add_text(places, file->ids[i], strlen(file->ids[i]));
		if (!found)
			found = places->texts.items[texts[i]].file;
	}
	if (!texts[0] && !texts[1] && !texts[2]) {
		texts[0] = places_add_text(places, name, strlen(name));
		found = places->texts.items[texts[0]].file;
	}
	if (!found && (texts[0] || texts[1] || texts[2]))
		found = new_file(places, name);
	for (size_t i = 0; i < PLACES_FILE_IDS; i++)
		if (texts[i] && !places->texts.items[texts[i]].file)
			places->texts.items[texts[i]].file = found;
	return found;
}

/* ---- places ---- */

struct item_key {
	uint64_t address;
	uint32_t file, name;
};

struct item_lookup {
	const struct places *places;
	struct item_key key;
};

static bool item_equal(uint32_t id, const void *context)
{
	const struct item_lookup *lookup = context;
	const struct place *item = &lookup->places->items.items[id];

	return item->address == lookup->key.address && item->file == lookup->key.file &&
	       item->name == lookup->key.name;
}

uint32_t places_add(struct places *places, const struct place *place)
{
	struct item_lookup lookup = {
		.places = places,
		.key = { .address = place->address, .file = place->file, .name = place->name },
	};
	uint32_t hash, id;

	if (!place->file && !place->name)
		return PLACE_NONE;
	hash = intern_hash_seeded(&lookup.key, sizeof(lookup.key), places->seed);
	id = intern_find(&places->item_index, hash, item_equal, &lookup);
	if (id == INTERN_MISSING) {
		id = (uint32_t)places->items.count;
		if (id >= ITEMS_MAX || !VECTOR_RESERVE(&places->items, 1) ||
		    !intern_insert(&places->item_index, hash, id)) {
			places->refused++;
			return PLACE_NONE;
		}
		places->items.items[places->items.count++] = *place;
	}
	places->items.items[id].own |= place->own;
	return id;
}

bool places_init(struct places *places)
{
	*places = (struct places){ .memory = arena_create(MEMORY_MAX) };
	if (getrandom(&places->seed, sizeof(places->seed), GRND_NONBLOCK) < 0)
		places->seed = clock_monotonic_ns();
	// Text 0 is the empty one, file 0 none, file 1 the kernel, place 0 nowhere.
	if (!places->memory || !VECTOR_PUSH(&places->texts, (struct places_text){ .bytes = "" }) ||
	    !VECTOR_PUSH(&places->files, 0) ||
	    !VECTOR_PUSH(&places->files, places_add_text(places, "kernel", strlen("kernel"))) ||
	    !VECTOR_PUSH(&places->items, (struct place){ 0 }))
		return false;
	return true;
}

void places_deinit(struct places *places)
{
	VECTOR_DEINIT(&places->texts);
	VECTOR_DEINIT(&places->files);
	VECTOR_DEINIT(&places->items);
	intern_deinit(&places->text_index);
	intern_deinit(&places->item_index);
	arena_destroy(places->memory);
}
