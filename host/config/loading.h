/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the configuration: what is known of a file while it is being loaded. */
#pragma once

#include "config.h"
#include "problems.h"

struct yaml_node;
struct yaml_entry;

enum {
	LOADING_COMPONENTS_MAX = 1000,
	LOADING_PIPELINES_MAX = 1000,
	LOADING_MEMORY_MAX = 64 << 20, /* bytes; more is refused as too much */
};

/* Also one that is wrong: who refers to it should not be told that it is missing. */
struct loading_component {
	struct config_component component; /* .type and .options are NULL when wrong */
	struct place place;
	const struct yaml_node *body; /* may be NULL, and anything */
	bool used;
};

struct loading_pipeline {
	struct config_pipeline pipeline;
	struct place place;
};

struct loading {
	const struct component_registry *registry; /* borrowed */
	struct arena *memory;                      /* borrowed; becomes the config's */
	struct problems *problems;                 /* borrowed */
	struct {
		struct loading_component *items;
		size_t count, capacity;
	} components; /* owned */
	struct {
		struct loading_pipeline *items;
		size_t count, capacity;
	} pipelines;               /* owned */
	bool looks_at_paths;       /* as config_sources has it */
	bool without_plugins;      /* they may have what type is not known; it is reported */
	unsigned int unread_kinds; /* bit per kind: who knows what its section has? */
	const size_t *extensions;  /* in the arena: positions in @components */
	size_t extension_count;
	struct config_service service; /* in the arena */
};

/* Plural as it is the section's key ("receivers"), singular for messages. */
const char *components_section(enum profcol_kind kind);
const char *components_kind_name(enum profcol_kind kind);

/* Read the section of @kind, which stands under its key at the root. */
void components_read(struct loading *loading, enum profcol_kind kind,
		     const struct yaml_node *section);

/* Position of the component that a reference spells @id, or -1. */
long components_find(const struct loading *loading, enum profcol_kind kind, const char *id);

/* Say of each component that no pipeline and no list names that it will not run. */
void components_warn_unused(struct loading *loading);

/* Check that the storages that exporters name are enabled extensions. After `service`. */
void storages_check(struct loading *loading);

/* Read `service`. @section may be NULL; then @place is the file's. After all components. */
void service_read(struct loading *loading, const struct yaml_node *section, struct place place);

/* The keys of `service` beyond extensions and pipelines, into loading->service. @section is a map
 * or NULL. */
void service_settings_read(struct loading *loading, const struct yaml_node *section,
			   struct place place, const struct path *service);

/* `service.telemetry.resource`, into loading->service. */
void resource_read(struct loading *loading, const struct yaml_node *section,
		   const struct path *path);

/* A list of references that is about to be read. */
struct references {
	struct loading *loading;
	enum profcol_kind kind;   /* of what the list may name */
	const struct path *owner; /* of what has the list; problems are reported there */
	bool repetition_is_error; /* else the second one is ignored with a warning */
};

/*
 * The components that @list, which stands at @path, names: positions in its order,
 * each once, in the arena. NULL, null and an empty list give none and leave *@ret.
 * Returns how many references were given, wrong ones included.
 */
size_t references_read(const struct references *references, const struct yaml_node *list,
		       const struct path *path, const size_t **ret, size_t *count_ret);

/* @place as text, in the arena; NULL without memory. */
const char *loading_place(const struct loading *loading, struct place place);

/* Report that @key is none of @keys, NULL-terminated, with the nearest of them. */
void loading_unknown_key(struct loading *loading, const struct yaml_node *key,
			 const char *const *keys, const struct path *path);

/* Is @node a map? If not (null is fine as well, and gives false) it is reported. */
bool loading_expect_map(struct loading *loading, const struct yaml_node *node,
			const struct path *path);
