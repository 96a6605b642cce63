// SPDX-License-Identifier: Apache-2.0
/* Lists of component ids, as pipelines and service::extensions have them. */
#include "id.h"
#include "loading.h"
#include "yaml.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* One list while it is being read. */
struct reading_list {
	const struct references *references;
	bool *seen;        /* owned; by position of the component */
	size_t *positions; /* owned; room for each component once */
	size_t count, given;
};

/* Where a component of that id is configured after all, for the remedy. */
static const char *find_elsewhere(const struct loading *loading, const char *id)
{
	static const enum profcol_kind kinds[] = { PROFCOL_RECEIVER, PROFCOL_PROCESSOR,
						   PROFCOL_EXPORTER, PROFCOL_EXTENSION };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (components_find(loading, kinds[i], id) >= 0)
			return components_section(kinds[i]);
	return NULL;
}

static const char *find_nearest(const struct references *references, const char *id)
{
	const struct loading *loading = references->loading;
	CLEANUP_FREE const char **ids = calloc(loading->components.count + 1, sizeof(*ids));
	size_t count = 0;

	if (!ids || problems_is_full(loading->problems))
		return NULL;
	for (size_t i = 0; i < loading->components.count; i++)
		if (loading->components.items[i].component.kind == references->kind)
			ids[count++] = loading->components.items[i].component.id;
	return strings_nearest(id, ids, count);
}

/* @label is the id as messages show it. */
static void report_missing(const struct references *references, const char *id, const char *label,
			   struct place place)
{
	struct problems *problems = references->loading->problems;
	const char *kind = components_kind_name(references->kind);
	const char *nearest = find_nearest(references, id);
	const char *elsewhere = find_elsewhere(references->loading, id);

	if (elsewhere)
		problems_add(problems, place, references->owner,
			     "references %s \"%s\" which is not configured; '%s' is configured "
			     "under '%s'",
			     kind, label, label, elsewhere);
	else if (nearest)
		problems_add(problems, place, references->owner,
			     "references %s \"%s\" which is not configured; did you mean '%s'?",
			     kind, label, nearest);
	else
		problems_add(problems, place, references->owner,
			     "references %s \"%s\" which is not configured; add it under '%s'",
			     kind, label, components_section(references->kind));
}

static void report_repetition(const struct references *references, const char *id,
			      struct place place)
{
	struct problems *problems = references->loading->problems;
	const char *kind = components_kind_name(references->kind);

	if (references->repetition_is_error)
		problems_add(problems, place, references->owner,
			     "references %s \"%s\" multiple times; give each its own name, as in "
			     "'%s/2'",
			     kind, id, id);
	else
		problems_warn(problems, place, references->owner,
			      "references %s \"%s\" multiple times, it is used once", kind, id);
}

static void read_reference(struct reading_list *list, const struct yaml_node *item)
{
	const struct references *references = list->references;
	struct loading *loading = references->loading;
	struct place place = item->place;
	char why[ID_FAULT_MAX];
	struct id id;
	long position;

	if (!id_parse(loading->memory, item->text, &id, why)) {
		if (*why)
			problems_add(loading->problems, place, references->owner, "%s",
				     item->concealed ? "\"...\" is no id; write type or type/name"
						     : why);
		else
			loading->problems->no_memory = true;
		return;
	}
	position = components_find(loading, references->kind, id.text);
	if (position < 0) {
		if (!(loading->unread_kinds & 1u << references->kind))
			report_missing(references, id.text,
				       item->concealed ? yaml_shown(item) : id.text, place);
		return;
	}
	if (list->seen[position]) {
		report_repetition(references, id.text, place);
		return;
	}
	list->seen[position] = true;
	loading->components.items[position].used = true;
	list->positions[list->count++] = (size_t)position;
}

static void read_items(struct reading_list *list, const struct yaml_node *node,
		       const struct path *path)
{
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *item = node->items[i];
		struct path here = { .parent = path, .index = i };

		list->given++;
		if (item->broken)
			continue;
		if (item->kind == YAML_SCALAR &&
		    (item->scalar.type == SCALAR_STRING || item->from_variable))
			read_reference(list, item);
		else
			problems_add(list->references->loading->problems, item->place, &here,
				     "expected type 'string', got unconvertible type '%s'; name a "
				     "component%s",
				     yaml_type_name(item),
				     yaml_is_null(item) ? " (a variable that is not set?)" : "");
	}
}

static void keep_positions(const struct reading_list *list, const size_t **ret, size_t *count_ret)
{
	struct loading *loading = list->references->loading;
	size_t *kept = arena_alloc(loading->memory, (list->count + 1) * sizeof(*kept));

	if (!kept) {
		loading->problems->no_memory = true;
		return;
	}
	memcpy(kept, list->positions, list->count * sizeof(*kept));
	*ret = kept;
	*count_ret = list->count;
}

size_t references_read(const struct references *references, const struct yaml_node *node,
		       const struct path *path, const size_t **ret, size_t *count_ret)
{
	struct loading *loading = references->loading;
	size_t room = loading->components.count + 1;
	struct reading_list list = { .references = references };
	CLEANUP_FREE bool *seen = NULL;
	CLEANUP_FREE size_t *positions = NULL;

	if (yaml_is_null(node))
		return 0;
	if (node->broken)
		return 1;
	if (node->kind != YAML_LIST) {
		problems_add(loading->problems, node->place, path,
			     "source data must be an array or slice, got %s; write it as [a, b]%s",
			     yaml_type_name(node), yaml_hint(node));
		return 1;
	}
	list.seen = seen = calloc(room, sizeof(*seen));
	list.positions = positions = calloc(room, sizeof(*positions));
	if (!seen || !positions) {
		loading->problems->no_memory = true;
		return 1;
	}
	read_items(&list, node, path);
	keep_positions(&list, ret, count_ret);
	return list.given;
}
