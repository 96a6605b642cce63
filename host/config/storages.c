// SPDX-License-Identifier: Apache-2.0
/* `sending_queue.storage` of exporters: which extension keeps their queue. */
#include "id.h"
#include "loading.h"
#include "yaml.h"

#include "sending/sending.h"

#include <string.h>

/* Where the exporter says it; NULL when it is a default. */
static const struct yaml_node *find_storage(const struct loading_component *exporter)
{
	const struct yaml_node *queue = NULL, *storage = NULL;

	if (exporter->body && exporter->body->kind == YAML_MAP)
		queue = yaml_map_find(exporter->body, "sending_queue");
	if (queue && queue->kind == YAML_MAP)
		storage = yaml_map_find(queue, "storage");
	return storage;
}

static bool is_enabled(const struct loading *loading, size_t position)
{
	for (size_t i = 0; i < loading->extension_count; i++)
		if (loading->extensions[i] == position)
			return true;
	return false;
}

/* @label is the id as messages show it. */
static void check_extension(struct loading *loading, const char *id, const char *label,
			    struct place place, const struct path *path)
{
	long position = components_find(loading, PROFCOL_EXTENSION, id);
	const struct profcol_component *type;

	if (position < 0) {
		if (!(loading->unread_kinds & 1u << PROFCOL_EXTENSION))
			problems_add(loading->problems, place, path,
				     "references extension \"%s\" which is not configured; add it "
				     "under 'extensions', and to service::extensions",
				     label);
		return;
	}
	type = loading->components.items[position].component.type;
	if (type && !type->storage)
		problems_add(loading->problems, place, path,
			     "extension \"%s\" cannot keep a queue; name a storage, as "
			     "file_storage",
			     label);
	else if (!is_enabled(loading, (size_t)position))
		problems_add(loading->problems, place, path,
			     "references extension \"%s\" which is not enabled; add it to "
			     "service::extensions",
			     label);
}

static void check_exporter(struct loading *loading, const struct loading_component *exporter)
{
	const struct config_component *component = &exporter->component;
	struct path section = { .key = components_section(PROFCOL_EXPORTER) };
	struct path body = { .parent = &section, .key = component->id };
	struct path queue = { .parent = &body, .key = "sending_queue" };
	struct path path = { .parent = &queue, .key = "storage" };
	const struct yaml_node *storage = find_storage(exporter);
	struct place place = storage ? storage->place : exporter->place;
	bool concealed = storage && storage->concealed;
	struct sending_config *config;
	char why[ID_FAULT_MAX];
	struct id id;

	// The loaded options are still ours to change.
	config = (struct sending_config *)(uintptr_t)sending_config_of(component->type,
								       component->options);
	if (!config->queue.enabled || !config->queue.storage[0])
		return;
	if (id_parse(loading->memory, config->queue.storage, &id, why)) {
		config->queue.storage = id.text;
		check_extension(loading, id.text, concealed ? "..." : id.text, place, &path);
	} else if (*why) {
		problems_add(loading->problems, place, &path, "%s",
			     concealed ? "\"...\" is no id; write type or type/name" : why);
	} else {
		loading->problems->no_memory = true;
	}
}

void storages_check(struct loading *loading)
{
	for (size_t i = 0; i < loading->components.count; i++) {
		const struct loading_component *loaded = &loading->components.items[i];
		const struct config_component *component = &loaded->component;

		if (component->kind == PROFCOL_EXPORTER && component->type &&
		    component->type->send && component->options)
			check_exporter(loading, loaded);
	}
}
