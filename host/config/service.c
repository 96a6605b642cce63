// SPDX-License-Identifier: Apache-2.0
/* The section `service`: which components run, and how they are connected. */
#include "id.h"
#include "loading.h"
#include "yaml.h"

#include "base/base.h"

#include <string.h>

static const char *const pipeline_keys[] = { "receivers", "processors", "exporters", NULL };
static const char *const other_signals[] = { "traces", "metrics", "logs", NULL };

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return true;
	return false;
}

static void refuse_unknown_keys(struct loading *loading, const struct yaml_node *map,
				const char *const *keys, const struct path *path)
{
	for (size_t i = 0; i < map->count; i++)
		if (!is_one_of(map->entries[i].key->text, keys))
			loading_unknown_key(loading, map->entries[i].key, keys, path);
}

static void read_extensions(struct loading *loading, const struct yaml_node *list,
			    const struct path *service)
{
	struct path path = { .parent = service, .key = "extensions" };
	struct references references = { .loading = loading,
					 .kind = PROFCOL_EXTENSION,
					 .owner = &path };

	references_read(&references, list, &path, &loading->extensions, &loading->extension_count);
}

/* The three lists of @body, which is a map, into @pipeline. */
static void read_lists(struct loading *loading, const struct yaml_node *body,
		       const struct path *path, struct loading_pipeline *loaded)
{
	struct config_pipeline *pipeline = &loaded->pipeline;
	struct {
		enum profcol_kind kind;
		const char *missing; /* NULL: may be empty */
		const size_t **positions;
		size_t *count;
	} lists[] = {
		{ PROFCOL_RECEIVER, "must have at least one receiver; add 'receivers: [...]'",
		  &pipeline->receivers, &pipeline->receiver_count },
		{ PROFCOL_PROCESSOR, NULL, &pipeline->processors, &pipeline->processor_count },
		{ PROFCOL_EXPORTER, "must have at least one exporter; add 'exporters: [...]'",
		  &pipeline->exporters, &pipeline->exporter_count },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *key = components_section(lists[i].kind);
		struct references references = {
			.loading = loading,
			.kind = lists[i].kind,
			.owner = path,
			.repetition_is_error = lists[i].kind == PROFCOL_PROCESSOR,
		};
		struct path here = { .parent = path, .key = key };
		const struct yaml_node *list = body ? yaml_map_find(body, key) : NULL;

		if (!references_read(&references, list, &here, lists[i].positions,
				     lists[i].count) &&
		    lists[i].missing)
			problems_add(loading->problems, list ? list->place : loaded->place, path,
				     "%s", lists[i].missing);
	}
}

static void refuse_signal(struct loading *loading, const struct id *id, struct place place,
			  const struct path *pipelines)
{
	static const char *const signals[] = { "profiles" };

	if (is_one_of(id->type, other_signals))
		problems_add(loading->problems, place, pipelines,
			     "pipeline \"%s\": telemetry type is not supported: profcol carries "
			     "profiles only; rename it to 'profiles', or remove it",
			     id->text);
	else
		problems_add(loading->problems, place, pipelines,
			     "pipeline \"%s\": unknown signal \"%s\"; %s", id->text, id->type,
			     strings_nearest(id->type, signals, 1)
				     ? "did you mean 'profiles'?"
				     : "write 'profiles' or 'profiles/name'");
}

/* The id of a new pipeline. False when it cannot be one, which is reported. */
static bool read_id(struct loading *loading, const struct yaml_node *key,
		    const struct path *pipelines, struct id *ret)
{
	char why[ID_FAULT_MAX], first[PROBLEMS_PLACE_MAX];

	if (!id_parse(loading->memory, key->text, ret, why)) {
		if (*why)
			problems_add(loading->problems, key->place, pipelines, "%s", why);
		else
			loading->problems->no_memory = true;
		return false;
	}
	if (strcmp(ret->type, "profiles") != 0) {
		refuse_signal(loading, ret, key->place, pipelines);
		return false;
	}
	for (size_t i = 0; i < loading->pipelines.count; i++) {
		const struct loading_pipeline *other = &loading->pipelines.items[i];

		if (strcmp(other->pipeline.id, ret->text) != 0)
			continue;
		problems_print_line(loading->problems, other->place, key->place, first);
		problems_add(loading->problems, key->place, pipelines,
			     "duplicate name \"%s\", first given at %s; rename one of them",
			     ret->text, first);
		return false;
	}
	return true;
}

static void read_pipeline(struct loading *loading, const struct yaml_entry *entry,
			  const struct path *pipelines)
{
	struct loading_pipeline loaded = { .place = entry->key->place };
	struct path path = { .parent = pipelines };
	const struct yaml_node *body = entry->value;
	bool is_map;
	struct id id;

	if (!read_id(loading, entry->key, pipelines, &id))
		return;
	loaded.pipeline.id = path.key = id.text;
	is_map = loading_expect_map(loading, body, &path);
	if (is_map)
		refuse_unknown_keys(loading, body, pipeline_keys, &path);
	if (is_map || (yaml_is_null(body) && !body->broken))
		read_lists(loading, is_map ? body : NULL, &path, &loaded);
	if (!VECTOR_PUSH(&loading->pipelines, loaded))
		loading->problems->no_memory = true;
}

static void read_pipelines(struct loading *loading, const struct yaml_node *section,
			   struct place place, const struct path *service)
{
	struct path path = { .parent = service, .key = "pipelines" };

	if (section)
		place = section->place;
	if (section && section->broken)
		return;
	if (yaml_is_null(section) || (section->kind == YAML_MAP && !section->count)) {
		problems_add(
			loading->problems, place, &path,
			"service must have at least one pipeline; add 'profiles:' with receivers "
			"and exporters");
		return;
	}
	if (!loading_expect_map(loading, section, &path))
		return;
	for (size_t i = 0; i < section->count; i++) {
		if (loading->pipelines.count >= LOADING_PIPELINES_MAX) {
			problems_add(loading->problems, section->entries[i].key->place, &path,
				     "more than %d pipelines; remove some", LOADING_PIPELINES_MAX);
			return;
		}
		read_pipeline(loading, &section->entries[i], &path);
	}
}

void service_read(struct loading *loading, const struct yaml_node *section, struct place place)
{
	struct path path = { .key = "service" };

	if (section && section->broken)
		return;
	if (yaml_is_null(section)) {
		service_settings_read(loading, NULL, place, &path);
		read_pipelines(loading, NULL, place, &path);
		return;
	}
	if (!loading_expect_map(loading, section, &path))
		return;
	service_settings_read(loading, section, place, &path);
	read_extensions(loading, yaml_map_find(section, "extensions"), &path);
	read_pipelines(loading, yaml_map_find(section, "pipelines"), place, &path);
}
