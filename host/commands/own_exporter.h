/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter hands its batches to the command whose configuration has it: `shadow` compares them,
 * `top` shows them. No other configuration has it, since only the registry of such a command does.
 */
#pragma once

#include "config/config.h"

enum { OWN_EXPORTER_SIDES = 2 };

struct own_exporter_type {
	struct profcol_component component;
	/*
	 * @batch, owned by the callee from now on, has come to an instance whose key `side` is
	 * @side, less than OWN_EXPORTER_SIDES. Threads of receivers, several at a time. NULL:
	 * counts as exported.
	 */
	struct profcol_error *(*take)(void *context, unsigned int side,
				      struct profcol_batch *batch);
	void *context; /* borrowed */
};

/* A type of exporter called @name, a literal, which hands over to @take. It has to outlive its
 * instances, which find it through their type. */
struct own_exporter_type own_exporter_type(const char *name,
					   struct profcol_error *(*take)(void *, unsigned int,
									 struct profcol_batch *),
					   void *context);

/* @builtin and @type, still to be sorted, which loading does: an array that the caller frees, whose
 * elements are borrowed. NULL without memory. */
const struct profcol_component **own_exporter_register(const struct component_registry *builtin,
						       const struct own_exporter_type *type,
						       struct component_registry *ret);
