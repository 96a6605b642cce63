// SPDX-License-Identifier: Apache-2.0
/* The sections receivers, processors, exporters and extensions. */
#include "conceal.h"
#include "decode.h"
#include "decode_text.h"
#include "effective.h"
#include "id.h"
#include "loading.h"
#include "yaml.h"

#include "base/base.h"
#include "sending/sending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *section, *name;
} kinds[] = {
	[PROFCOL_RECEIVER] = { "receivers", "receiver" },
	[PROFCOL_PROCESSOR] = { "processors", "processor" },
	[PROFCOL_EXPORTER] = { "exporters", "exporter" },
	[PROFCOL_EXTENSION] = { "extensions", "extension" },
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

const char *components_section(enum profcol_kind kind)
{
	return kinds[kind].section;
}

const char *components_kind_name(enum profcol_kind kind)
{
	return kinds[kind].name;
}

long components_find(const struct loading *loading, enum profcol_kind kind, const char *id)
{
	for (size_t i = 0; i < loading->components.count; i++) {
		const struct config_component *component = &loading->components.items[i].component;

		if (component->kind == kind && !strcmp(component->id, id))
			return (long)i;
	}
	return -1;
}

static bool is_alias(const struct profcol_component *component, const char *type)
{
	for (const char *const *alias = component->aliases; alias && *alias; alias++)
		if (!strcmp(*alias, type))
			return true;
	return false;
}

static const struct profcol_component *find_type(const struct component_registry *registry,
						 enum profcol_kind kind, const char *type)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct profcol_component *component = registry->components[i];

		if (component->kind == kind &&
		    (!strcmp(component->type, type) || is_alias(component, type)))
			return component;
	}
	return NULL;
}

/* The types of @kind, NULL-terminated, to be freed by the caller; NULL without memory. */
static const char **list_types(const struct component_registry *registry, enum profcol_kind kind,
			       size_t *count_ret)
{
	const char **types = calloc(registry->count + 1, sizeof(*types));
	size_t count = 0;

	for (size_t i = 0; types && i < registry->count; i++)
		if (registry->components[i]->kind == kind)
			types[count++] = registry->components[i]->type;
	*count_ret = count;
	return types;
}

/* The section under which the type does exist, or NULL. */
static const char *find_other_kind(const struct component_registry *registry, const char *type)
{
	for (unsigned int kind = 0; kind < KIND_COUNT; kind++)
		if (find_type(registry, kind, type))
			return kinds[kind].section;
	return NULL;
}

/* Components of the Collector that are not there for a reason, and the way out. */
static const char *find_absent(enum profcol_kind kind, const char *type)
{
	static const struct {
		enum profcol_kind kind;
		const char *type, *remedy;
	} absent[] = {
		{ PROFCOL_EXTENSION, "opamp",
		  "; profcol takes no orders over the network: remove it, keep the configuration "
		  "in a "
		  "file, and let '--watch-config' or SIGHUP load it again when it changes" },
		{ PROFCOL_RECEIVER, "pprof",
		  "; it is not there yet: 'profcol view FILE' shows a pprof file" },
	};

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (absent[i].kind == kind && !strcmp(absent[i].type, type))
			return absent[i].remedy;
	return NULL;
}

static void report_unknown_type(struct loading *loading, enum profcol_kind kind,
				const struct id *id, struct place place, const struct path *section)
{
	const char *other = find_other_kind(loading->registry, id->type), *nearest = NULL;
	const char *absent = find_absent(kind, id->type);
	CLEANUP_FREE const char **types = NULL;
	char valid[512], remedy[256];
	size_t count;

	types = list_types(loading->registry, kind, &count);
	if (!types) {
		loading->problems->no_memory = true;
		return;
	}
	snprintf(remedy, sizeof(remedy), "%s",
		 count ? "; use one of these" : "; this program has none: remove it");
	if (!problems_is_full(loading->problems))
		nearest = strings_nearest(id->type, types, count);
	if (nearest)
		snprintf(remedy, sizeof(remedy), "; did you mean '%s'?", nearest);
	if (other)
		snprintf(remedy, sizeof(remedy), "; it belongs under '%s'", other);
	if (absent)
		snprintf(remedy, sizeof(remedy), "%s", absent);
	decode_join_words(valid, sizeof(valid), types, " ");
	problems_add(loading->problems, place, section,
		     "unknown type: \"%s\" for id: \"%s\" (valid values: [%s])%s", id->type,
		     id->text, valid, remedy);
}

/* The value of the key @name, @length bytes, of a map; the item of that number of a list. */
static const struct yaml_node *find_part(const struct yaml_node *body, const char *name,
					 size_t length)
{
	char *end;
	unsigned long item;

	for (size_t i = 0; body->kind == YAML_MAP && i < body->count; i++) {
		const char *key = body->entries[i].key->text;

		if (strlen(key) == length && !memcmp(key, name, length))
			return body->entries[i].value;
	}
	if (body->kind != YAML_LIST || *name < '0' || *name > '9')
		return NULL;
	item = strtoul(name, &end, 10);
	return end == name + length && item < body->count ? body->items[item] : NULL;
}

/* A message of validate() begins with the key it is about: where is that? */
static struct place find_key(const struct yaml_node *body, struct place place, const char *message)
{
	while (body) {
		size_t length = strspn(message, "abcdefghijklmnopqrstuvwxyz_0123456789");

		body = find_part(body, message, length);
		if (!body)
			break;
		place = body->place;
		message += length;
		if (!strncmp(message, "::", 2))
			message += 2;
		else if (*message == '.')
			message++;
		else
			break;
	}
	return place;
}

static void validate(struct loading *loading, const struct profcol_component *type,
		     const void *options, const struct yaml_node *body, struct place place,
		     const struct path *path)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE char *message = NULL;
	const char *line;

	error = type->validate ? type->validate(options) : NULL;
	if (type->send)
		error = profcol_error_join(error,
					   sending_validate(sending_config_of(type, options)));
	if (!error)
		return;
	message = strdup(profcol_error_message(error));
	if (!message || profcol_error_code(error) == PROFCOL_NO_MEMORY) {
		loading->problems->no_memory = true;
		return;
	}
	conceal(body, message);
	for (line = message; *line;) {
		size_t length = strcspn(line, "\n");

		problems_add(loading->problems, find_key(body, place, line), path, "%.*s",
			     (int)length, line);
		line += length + (line[length] == '\n');
	}
}

static bool is_body(struct loading *loading, const struct id *id, const struct yaml_node *body,
		    const struct path *path)
{
	if (body->broken)
		return false;
	if (yaml_is_null(body) || body->kind == YAML_MAP)
		return true;
	problems_add(loading->problems, body->place, path,
		     "error reading configuration for \"%s\": expected a map, got '%s'; write "
		     "'key: value' lines below it, or nothing for the defaults%s",
		     id->text, yaml_type_name(body), yaml_hint(body));
	return false;
}

/* Decode and check the body into @ret; it gets no options when something is wrong, which is
 * reported. */
static void read_options(struct loading *loading, const struct profcol_component *type,
			 const struct id *id, const struct yaml_entry *entry,
			 const struct path *path, struct config_component *ret)
{
	bool incomplete = false;
	size_t unknown_keys = 0;
	struct decoding decoding = {
		.memory = loading->memory,
		.problems = loading->problems,
		.looks_at_paths = loading->looks_at_paths,
		.unknown_keys = &unknown_keys,
		.incomplete = &incomplete,
	};
	size_t before = problems_count(loading->problems);
	struct place place = entry->key->place;
	const struct profcol_option *table;
	void *options = NULL;
	size_t size;

	if (!is_body(loading, id, entry->value, path))
		return;
	if (sending_compose(type, loading->memory, &table, &size))
		options = arena_alloc(loading->memory, size);
	if (!options) {
		loading->problems->no_memory = true;
		return;
	}
	decode_options(&decoding, table, entry->value, place, path, options);
	// A key that is not known leaves the other values what they are: all mistakes come at once.
	if (problems_count(loading->problems) != before + unknown_keys || incomplete ||
	    loading->problems->no_memory)
		return;
	validate(loading, type, options, entry->value, place, path);
	if (unknown_keys)
		return;
	ret->text = effective_text(loading->memory, table, options);
	loading->problems->no_memory |= !ret->text;
	ret->options = options;
}

/* The id of a new component of the section. False when it cannot be one, which is reported. */
static bool read_id(struct loading *loading, enum profcol_kind kind, const struct yaml_node *key,
		    const struct path *section, struct id *ret)
{
	char why[ID_FAULT_MAX], first[PROBLEMS_PLACE_MAX];
	long other;

	if (!id_parse(loading->memory, key->text, ret, why)) {
		if (*why)
			problems_add(loading->problems, key->place, section, "%s", why);
		else
			loading->problems->no_memory = true;
		return false;
	}
	other = components_find(loading, kind, ret->text);
	if (other < 0)
		return true;
	problems_print_line(loading->problems, loading->components.items[other].place, key->place,
			    first);
	problems_add(loading->problems, key->place, section,
		     "duplicate name \"%s\", first given at %s; rename one of them", ret->text,
		     first);
	return false;
}

static void read_component(struct loading *loading, enum profcol_kind kind,
			   const struct yaml_entry *entry, const struct path *section)
{
	struct loading_component loaded = { .component.kind = kind,
					    .place = entry->key->place,
					    .body = entry->value };
	struct path path = { .parent = section };
	const struct profcol_component *type;
	struct id id;

	if (!read_id(loading, kind, entry->key, section, &id))
		return;
	loaded.component.id = path.key = id.text;
	type = find_type(loading->registry, kind, id.type);
	if (!type && !loading->without_plugins) {
		report_unknown_type(loading, kind, &id, loaded.place, section);
	} else if (type) {
		if (strcmp(type->type, id.type) != 0)
			problems_warn(loading->problems, loaded.place, &path,
				      "\"%s\" alias is deprecated; use \"%s\" instead", id.type,
				      type->type);
		loaded.component.type = type;
		read_options(loading, type, &id, entry, &path, &loaded.component);
	}
	if (!VECTOR_PUSH(&loading->components, loaded))
		loading->problems->no_memory = true;
}

void components_read(struct loading *loading, enum profcol_kind kind,
		     const struct yaml_node *section)
{
	struct path path = { .key = components_section(kind) };

	if (!loading_expect_map(loading, section, &path)) {
		if (section->broken || !yaml_is_null(section))
			loading->unread_kinds |= 1u << kind;
		return;
	}
	for (size_t i = 0; i < section->count; i++) {
		if (loading->unread_kinds == ~0u)
			return;
		if (loading->components.count >= LOADING_COMPONENTS_MAX) {
			problems_add(loading->problems, section->entries[i].key->place, &path,
				     "more than %d components; remove some",
				     LOADING_COMPONENTS_MAX);
			loading->unread_kinds = ~0u;
		}
		read_component(loading, kind, &section->entries[i], &path);
	}
}

void components_warn_unused(struct loading *loading)
{
	for (size_t i = 0; i < loading->components.count; i++) {
		const struct loading_component *loaded = &loading->components.items[i];
		enum profcol_kind kind = loaded->component.kind;
		struct path section = { .key = components_section(kind) };
		struct path path = { .parent = &section, .key = loaded->component.id };

		if (!loaded->used)
			problems_warn(loading->problems, loaded->place, &path,
				      "is configured but %s, it will not run",
				      kind == PROFCOL_EXTENSION
					      ? "service::extensions does not name it"
					      : "no pipeline names it");
	}
}
