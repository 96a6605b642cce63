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
