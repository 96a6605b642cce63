/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables in values, by the Collector's rules.
 *
 * ${env:NAME}, ${NAME}            the variable; null and a warning when it is not set
 * ${env:NAME:-default}            the default when it is not set
 * ${file:PATH}                    what is in the file, without the line end at its end
 * ${yaml:TEXT}                    the text
 * $$                              one $; an odd run of $ before ${ keeps it as text
 *
 * A value that is one reference and nothing else takes the type that the text it
 * stands for has as YAML, lists and maps included; inside other text it is
 * text. What it stands for is expanded in turn. Keys are not.
 */
#pragma once

#include "retrieve.h"
#include "yaml.h"

/* Expand all values below @root in place; problems and warnings go to the source's list. */
void expand_tree(struct yaml_source *source, struct retriever *retriever, struct yaml_node *root);
