/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Editors: the functions of statements. Names, parameters and effects are the Collector's
 * (pkg/ottl/ottlfuncs of opentelemetry-collector-contrib 0.159).
 */
#pragma once

#include "functions.h"

/* NULL when there is none. */
const struct function *editor_find(const char *name);

/* The nearest name; NULL when none is near. */
const char *editor_nearest(const char *name);

/* All names, with commas between them. */
const char *editor_names(void);

/*
 * What is wrong with the literal arguments of @node, an editor's call with its arguments by
 * parameter: a word that means nothing, a limit that is too small. NULL when nothing is; else text
 * for a message, and *@argument_ret the argument.
 */
const char *editor_fault(const struct node *node, const struct node **argument_ret);
