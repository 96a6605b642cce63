/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables as documentation. */
#pragma once

#include <profcol/options.h>

#include <stdio.h>

/*
 * Print @table as a Markdown table: key, type with bounds or words, default, doc.
 * Nested options follow theirs as dotted paths. Nothing for NULL or an empty table.
 */
void describe_options(const struct profcol_option *table, FILE *to);

/* "int", "duration", "list of sections", ... */
const char *describe_type(enum profcol_option_type type);
