/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map while an editor changes it: the attributes of a row, in their order, or a map inside of
 * one, or of the cache, by its keys. All of it lies in the scratch memory of the evaluation.
 */
#pragma once

#include "evaluate.h"

struct edit_item {
	struct profcol_text key;
	uint32_t id;     /* of the attribute that it was; 0 = none */
	bool is_renamed; /* the key is another one than the attribute's */
	bool is_fresh;   /* the value is `value`, else that of the attribute */
	bool is_removed;
	uint32_t conflicts; /* others that wanted this key, while a map is flattened */
	struct value value;
};

struct edit_map {
	const struct node *node; /* borrowed: the path that is changed */
	struct edit_item *items;
	uint32_t count, capacity;
};

/* What is at the path @node, which can be changed. False with a message: there is no map. */
bool edit_map_load(struct evaluation *evaluation, const struct node *node, struct edit_map *ret);

/* Put the map where it came from. False with a message. */
bool edit_map_store(struct evaluation *evaluation, struct edit_map *map);

/* The value of @item. False with a message: it is too large. */
bool edit_item_read(struct evaluation *evaluation, const struct edit_item *item, struct value *ret);

void edit_item_set(struct edit_item *item, const struct value *value);

/* The first item @key that was not removed; NULL when there is none. */
struct edit_item *edit_map_find(const struct edit_map *map, struct profcol_text key);

/* An item @key of @value at the end. False with a message: there are too many. */
bool edit_map_add(struct evaluation *evaluation, struct edit_map *map, struct profcol_text key,
		  const struct value *value);

/* The attributes at the path @node, which has no keys, become those of the map @value. */
bool edit_map_replace_attributes(struct evaluation *evaluation, const struct node *node,
				 const struct value *value);

/*
 * What is at the path @node, with all its keys, becomes @value: maps and lists on the way to it
 * are made where nothing is there. False with a message: something on the way is neither.
 */
bool edit_put(struct evaluation *evaluation, const struct node *node, const struct value *value);
