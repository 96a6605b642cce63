// SPDX-License-Identifier: Apache-2.0
/* An option of a type that this program does not have. */
#include "refused.h"

static const struct profcol_option unknown_options[] = {
	{ .key = "number",
	  .doc = "of a later type",
	  .fallback = "1",
	  .type = (enum profcol_option_type)(PROFCOL_OPTION_ANY + 1) },
	PROFCOL_OPTION_END,
};

static const struct profcol_component unknown = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.type = "unknown",
	.summary = "never runs",
	.options = unknown_options,
	.config_size = 8,
	.create = refused_create,
};

PROFCOL_PLUGIN(&component, &unknown);
