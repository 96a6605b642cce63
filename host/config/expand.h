/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables in values, by the Collector's rules.
 *
 * ${env:NAME}, ${NAME}            the variable; null and a warning when it is not set
 * ${env:NAME:-default}            the default when it is not set
 * $$                              one $; an odd run of $ before ${ keeps it as text
 *
 * A value that is one reference and nothing else takes the type that the
 * variable's text has as YAML, lists and maps included; inside other text the
 * variable is text. What a variable holds is expanded in turn. Keys are not.
 */
#pragma once

#include "yaml.h"

/* Expand all values below @root in place; problems and warnings go to the source's list. */
void expand_tree(struct yaml_source *source, struct yaml_node *root);
