/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a YAML tree to the struct that an option table describes. Types are strict,
 * as the Collector's: no text for a number, no number for text, except that a
 * variable's text is taken as it stands where text is wanted.
 */
#pragma once

#include "yaml.h"

#include <profcol/options.h>

struct decoding {
	struct arena *memory; /* strings, lists and maps of the result */
	struct problems *problems;
	bool defaults_only;   /* a check of the table, or of what is switched off: what is required
			       * need not be there */
	bool looks_at_paths;  /* warn of files that are not there */
	size_t *unknown_keys; /* how many were reported; or NULL */
	bool *incomplete; /* set when a value was reported before: its field has nothing; or NULL */
	const struct profcol_option *switched; /* the table whose body may say `enabled`; or NULL */
};

/* Bytes of the field that receives a value; 0 for NESTED. */
size_t decode_field_size(enum profcol_option_type type);

/*
 * Fill the struct at @base, all fields that @table names, from @body: a map, or
 * NULL or null for nothing but defaults. What is wrong is reported; options that
 * are missing are reported at @place. @table may be NULL: no options.
 */
void decode_options(const struct decoding *decoding, const struct profcol_option *table,
		    const struct yaml_node *body, struct place place, const struct path *path,
		    void *base);
