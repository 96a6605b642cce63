// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <string.h>

static const char *const kind_names[] = {
	[PROFCOL_RECEIVER] = "receiver",
	[PROFCOL_PROCESSOR] = "processor",
	[PROFCOL_EXPORTER] = "exporter",
	[PROFCOL_EXTENSION] = "extension",
};

enum { KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

const struct profcol_component *registry_find(const struct component_registry *registry,
					      enum profcol_kind kind, const char *type)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct profcol_component *component = registry->components[i];

		if (component->kind == kind && strcmp(component->type, type) == 0)
			return component;
	}
	return NULL;
}

const char *registry_kind_name(enum profcol_kind kind)
{
	return (unsigned int)kind < KINDS ? kind_names[kind] : "component";
}

bool registry_kind_parse(const char *word, enum profcol_kind *ret)
{
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		if (strcmp(word, kind_names[kind]) == 0) {
			*ret = (enum profcol_kind)kind;
			return true;
		}
	}
	return false;
}

static const char *stability_name(enum profcol_stability stability)
{
	switch (stability) {
	case PROFCOL_DEVELOPMENT:
		return "Development";
	case PROFCOL_ALPHA:
		return "Alpha";
	case PROFCOL_BETA:
		return "Beta";
	case PROFCOL_STABLE:
		return "Stable";
	}
	return "Unknown";
}

/* A double-quoted YAML scalar: a summary may hold ": " or " #", which end a plain one. */
static void print_quoted(const char *text, FILE *stream)
{
	fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', stream);
		fputc(*text, stream);
	}
	fputs("\"\n", stream);
}

static void print_component(const struct profcol_component *component, FILE *stream)
{
	fprintf(stream, "    - name: %s\n", component->type);
	if (component->aliases && component->aliases[0]) {
		fputs("      aliases: [", stream);
		for (const char *const *alias = component->aliases; *alias; alias++)
			fprintf(stream, "%s%s", alias == component->aliases ? "" : ", ", *alias);
		fputs("]\n", stream);
	}
	// Profiles are all that an extension does not carry; there the Collector says "extension".
	fprintf(stream, "      stability:\n        %s: %s\n",
		component->kind == PROFCOL_EXTENSION ? "extension" : "profiles",
		stability_name(component->stability));
	fputs("      summary: ", stream);
	print_quoted(component->summary ? component->summary : "", stream);
}

static void print_kind(const struct component_registry *registry, enum profcol_kind kind,
		       FILE *stream)
{
	size_t found = 0;

	fprintf(stream, "%ss:", registry_kind_name(kind));
	for (size_t i = 0; i < registry->count; i++) {
		if (registry->components[i]->kind != kind)
			continue;
		if (!found++)
			fputc('\n', stream);
		print_component(registry->components[i], stream);
	}
	if (!found)
		fputs(" []\n", stream);
}

void registry_print(const struct component_registry *registry, const char *version, FILE *stream)
{
	fprintf(stream,
		"buildinfo:\n"
		"    command: profcol\n"
		"    description: whole-system profiler in the shape of an OpenTelemetry "
		"Collector\n"
		"    version: %s\n",
		version);
	for (unsigned int kind = 0; kind < KINDS; kind++)
		print_kind(registry, (enum profcol_kind)kind, stream);
}
