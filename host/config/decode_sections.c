// SPDX-License-Identifier: Apache-2.0
/* Lists of sections. */
#include "decode_text.h"

#include "base/base.h"

#include <string.h>

/* Texts in place of a section: the items of that section's list. */
static void decode_section_of_texts(const struct target *target, struct yaml_node **texts,
				    size_t count, const struct path *path, void *base)
{
	struct yaml_node *text = texts[0];
	struct yaml_node list = {
		.kind = YAML_LIST, .place = text->place, .items = texts, .count = count
	};
	const struct yaml_node key = { .kind = YAML_SCALAR,
				       .place = text->place,
				       .text = target->option->names[0] };
	struct yaml_entry entry = { .key = &key, .value = &list };
	const struct yaml_node body = {
		.kind = YAML_MAP, .place = text->place, .entries = &entry, .count = 1
	};

	decode_options(target->decoding, target->option->nested, &body, text->place, path, base);
}

static bool is_text(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR &&
	       (node->scalar.type == SCALAR_STRING || (node->from_variable && !yaml_is_null(node)));
}

/* Texts and sections in one list are none of the Collector's two styles. */
static bool is_mixed(const struct target *target)
{
	const struct yaml_node *list = target->node;

	for (size_t i = 1; target->option->names && i < list->count; i++) {
		if (is_text(list->items[i]) == is_text(list->items[0]))
			continue;
		problems_add(target->decoding->problems, list->items[i]->place, target->path,
			     "configuring multiple configuration styles is not supported, please "
			     "use only Basic configuration or only Advanced configuration: texts "
			     "only, or maps with '%s' only",
			     target->option->names[0]);
		return true;
	}
	return false;
}

/* The sections of @node into @items; how many they are. */
static size_t decode_items(const struct target *target, const struct yaml_node *node, char *items)
{
	const struct profcol_option *option = target->option;
	struct path here = { .parent = target->path };

	if (option->names && option->names[1] && node->count && is_text(node->items[0])) {
		decode_section_of_texts(target, node->items, node->count, &here, items);
		return 1;
	}
	for (size_t i = 0; i < node->count; i++) {
		char *item = items + i * option->item_size;

		here.index = i;
		if (option->names && is_text(node->items[i]))
			decode_section_of_texts(target, &node->items[i], 1, &here, item);
		else
			decode_options(target->decoding, option->nested, node->items[i],
				       node->items[i]->place, &here, item);
	}
	return node->count;
}

void decode_sections(const struct target *target)
{
	const struct decoding *decoding = target->decoding;
	const struct profcol_option *option = target->option;
	const struct yaml_node *node = target->node;
	char *items;

	if (node->kind != YAML_LIST) {
		decode_wrong_type(target, node, target->path, "slice",
				  "; write each as '- key: value' below it");
		return;
	}
	if (is_mixed(target))
		return;
	items = arena_alloc(decoding->memory, node->count * option->item_size + 1);
	if (!items) {
		decoding->problems->no_memory = true;
		return;
	}
	memset(items, 0, node->count * option->item_size);
	*(struct profcol_sections *)target->field =
		(struct profcol_sections){ .items = items,
					   .count = decode_items(target, node, items) };
}
