// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <string.h>

enum {
	NEAR_BYTES = 256, /* to a place of ours that names it */
	ROOT_STACKS = 2,  /* that end there unmarked */
};

/* ---- functions, each once ---- */

struct function_lookup {
	const struct functions *functions;
	struct function key;
};

static bool function_equal(uint32_t id, const void *context)
{
	const struct function_lookup *lookup = context;

	return !memcmp(&lookup->functions->items.items[id], &lookup->key, sizeof(lookup->key));
}

static bool add_function(struct functions *functions, uint32_t file, uint32_t name, uint32_t *ret)
{
	struct function_lookup lookup = { .functions = functions, .key = { file, name } };
	uint32_t hash =
		intern_hash_seeded(&lookup.key, sizeof(lookup.key), functions->places->seed);

	*ret = intern_find(&functions->index, hash, function_equal, &lookup);
	if (*ret != INTERN_MISSING)
		return true;
	*ret = (uint32_t)functions->items.count;
	return VECTOR_PUSH(&functions->items, lookup.key) &&
	       intern_insert(&functions->index, hash, *ret);
}

/* ---- places of ours, in order ---- */

static int compare_points(const void *left, const void *right, void *context)
{
	const struct places *places = context;
	const struct place *a = &places->items.items[*(const uint32_t *)left];
	const struct place *b = &places->items.items[*(const uint32_t *)right];

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->address == b->address ? 0 : a->address < b->address ? -1 : 1;
}

static bool is_point(const struct place *place)
{
	return place->own && place->file > PLACE_KERNEL && place->name;
}

/* The last point at or before @address of @file, or NULL; the one behind it in @next_ret. */
static const struct place *find_point(const struct functions *functions, uint32_t file,
				      uint64_t address, const struct place **next_ret)
{
	const struct place *items = functions->places->items.items, *before;
	size_t low = 0, high = functions->point_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct place *point = &items[functions->points[middle]];

		if (point->file < file || (point->file == file && point->address <= address))
			low = middle + 1;
		else
			high = middle;
	}
	*next_ret = NULL;
	if (low < functions->point_count && items[functions->points[low]].file == file)
		*next_ret = &items[functions->points[low]];
	before = low ? &items[functions->points[low - 1]] : NULL;
	return before && before->file == file ? before : NULL;
}

/* The name that ours have around a place; 0 = none. */
static uint32_t name_by_points(const struct functions *functions, const struct place *place)
{
	const struct place *next;
	const struct place *before = find_point(functions, place->file, place->address, &next);
	uint64_t from_before = before ? place->address - before->address : UINT64_MAX;
	uint64_t to_next = next ? next->address - place->address : UINT64_MAX;

	if (before && (!from_before || (next && before->name == next->name)))
		return before->name;
	if (before && from_before <= to_next && from_before <= NEAR_BYTES)
		return before->name;
	return next && to_next <= NEAR_BYTES ? next->name : 0;
}

static bool resolve_by_ours(struct functions *functions, const struct place *place, uint32_t *ret)
{
	uint32_t name = 0;

	if (place->file > PLACE_KERNEL)
		name = name_by_points(functions, place);
	else if (place->file == PLACE_NO_FILE && functions->of_name[place->name]) {
		*ret = functions->of_name[place->name] - 1;
		return true;
	}
	return add_function(functions, place->file, name ? name : place->name, ret);
}

/* Has ours a name for it? Without one it may still be the place of a frame that ours had no name
 * for when it was young. */
static bool is_named_by_us(const struct place *place)
{
	return place->own && (place->name || place->file <= PLACE_KERNEL);
}

/* Ours first: they name the others. */
static bool resolve(struct functions *functions)
{
	const struct places *places = functions->places;

	for (uint32_t id = 0; id < places->items.count; id++) {
		const struct place *place = &places->items.items[id];

		if (!is_named_by_us(place) && id != PLACE_NONE)
			continue;
		if (!add_function(functions, place->file, place->name, &functions->of_place[id]))
			return false;
		if (place->name && !functions->of_name[place->name])
			functions->of_name[place->name] = functions->of_place[id] + 1;
		if (is_point(place))
			functions->points[functions->point_count++] = id;
	}
	qsort_r(functions->points, functions->point_count, sizeof(*functions->points),
		compare_points, (void *)(uintptr_t)places);
	for (uint32_t id = 1; id < places->items.count; id++) {
		const struct place *place = &places->items.items[id];

		if (!is_named_by_us(place) &&
		    !resolve_by_ours(functions, place, &functions->of_place[id]))
			return false;
	}
	return true;
}

/* ---- where stacks end ---- */

static void mark_roots(struct functions *functions, const struct tally *tally)
{
	size_t count;
	const struct tally_row *rows = tally_rows(tally, TALLY_OWN, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t function = functions->of_place[rows[i].end];

		if (rows[i].how != STACK_IN_USER || !rows[i].end)
			continue;
		functions->root_places[rows[i].end] += rows[i].count;
		if (functions->items.items[function].name)
			functions->root_functions[function] += rows[i].count;
	}
}

/* By its name, where none of ours has got there. */
static bool is_root_name(const char *name)
{
	static const char *const roots[] = {
		"_start", "clone", "__clone", "clone3", "__clone3", "runtime.goexit",
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (!strcmp(name, roots[i]))
			return true;
	return false;
}

bool functions_is_whole(const struct functions *functions, const struct tally_row *row)
{
	uint32_t function = functions->of_place[row->end];
	uint32_t name = functions->items.items[function].name;

	if (row->how != STACK_IN_USER)
		return row->how == STACK_WHOLE;
	return functions->root_places[row->end] >= ROOT_STACKS ||
	       functions->root_functions[function] >= ROOT_STACKS ||
	       is_root_name(places_text(functions->places, name));
}

bool functions_init(struct functions *functions, const struct tally *tally)
{
	size_t places = tally->places.items.count;

	*functions = (struct functions){
		.places = &tally->places,
		.of_place = calloc(places, sizeof(*functions->of_place)),
		.of_name = calloc(tally->places.texts.count, sizeof(*functions->of_name)),
		.points = calloc(places, sizeof(*functions->points)),
		.root_places = calloc(places, sizeof(*functions->root_places)),
	};
	if (functions->of_place && functions->of_name && functions->points &&
	    functions->root_places && resolve(functions)) {
		functions->root_functions =
			calloc(functions->items.count, sizeof(*functions->root_functions));
		if (functions->root_functions) {
			mark_roots(functions, tally);
			return true;
		}
	}
	functions_deinit(functions);
	return false;
}

void functions_deinit(struct functions *functions)
{
	VECTOR_DEINIT(&functions->items);
	intern_deinit(&functions->index);
	free(functions->of_place);
	free(functions->of_name);
	free(functions->points);
	free(functions->root_places);
	free(functions->root_functions);
	*functions = (struct functions){ 0 };
}
