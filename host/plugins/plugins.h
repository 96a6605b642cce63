/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The components of this program and of the shared objects in the directories of
 * `service.plugins`, as one registry. Only root can have put a plugin where it is loaded from
 * (place.h), and it was built for this program (note.h), or none of its code runs.
 *
 * Main thread, once in a process, before the configuration is decoded; what is loaded stays
 * loaded. The rest is constant: any thread.
 */
#pragma once

#include "config/config.h"

struct plugins;

/*
 * Load every file `*.so` of @directories, absolute paths, in the order of their names. @builtin
 * is borrowed until destroy. Fails when one of them cannot be loaded, or brings a type that is
 * there already; the error has a line for each, naming the file. REJECTED whatever they hold where
 * the program has more rights than who starts it (file capabilities).
 */
PROFCOL_MUST_CHECK struct profcol_error *plugins_load(const struct profcol_list *directories,
						      const struct component_registry *builtin,
						      struct plugins **ret);

/* Built-in and loaded, sorted; borrowed until destroy. */
const struct component_registry *plugins_registry(const struct plugins *plugins);

/* Accepts NULL. The code of the plugins and their own memory stay until the process ends. */
void plugins_destroy(struct plugins *plugins);

/*
 * The open file that the component @kind/@type was loaded from, for its helper process; borrowed.
 * -1 for one that is built in. @plugins may be NULL.
 */
int plugins_descriptor(const struct plugins *plugins, enum profcol_kind kind, const char *type);

/*
 * In a helper process: the component @kind/@type of the plugin @fd, inherited from the host that
 * has loaded it. Takes @fd. What *@ret points to stays until the process ends.
 */
PROFCOL_MUST_CHECK struct profcol_error *
plugins_inherit(int fd, enum profcol_kind kind, const char *type, struct profcol_component *ret);
