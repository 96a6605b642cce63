/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `transform` are read into. */
#pragma once

#include "ottl/ottl.h"

#include <profcol/options.h>

#include <stdbool.h>

/* What becomes of a statement that cannot be carried out. */
enum error_mode {
	ERROR_MODE_IGNORE,    /* the next one follows, and a line is logged */
	ERROR_MODE_SILENT,    /* the next one follows */
	ERROR_MODE_PROPAGATE, /* the batch is refused */
};

/* The same in a group of statements: 0 = as the whole processor has it, else 1 + the mode. */
enum { ERROR_MODE_NOT_GIVEN };

/* Contexts by their options: 0 = to be found out from the paths, else 1 + enum ottl_context; and
 * other words for two of them. */
enum {
	CONTEXT_NOT_GIVEN,
	CONTEXT_PROFILESAMPLE = 2 + OTTL_MAPPING,
	CONTEXT_INSTRUMENTATION_SCOPE,
};

struct transform_group_config {
	int context;
	int error_mode;
	struct profcol_list conditions, statements;
};

struct transform_config {
	int error_mode;                             /* enum error_mode */
	struct profcol_sections profile_statements; /* struct transform_group_config */
	bool flatten_data;
	struct profcol_any unread; /* statements for other signals */
};

extern const struct profcol_option transform_options[];
