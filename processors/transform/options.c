// SPDX-License-Identifier: Apache-2.0
#include "config.h"
#include "groups.h"

static const char *const error_mode_names[] = {
	[ERROR_MODE_IGNORE] = "ignore",
	[ERROR_MODE_SILENT] = "silent",
	[ERROR_MODE_PROPAGATE] = "propagate",
	NULL,
};

static const char *const group_error_mode_names[] = {
	[ERROR_MODE_NOT_GIVEN] = "",
	[1 + ERROR_MODE_IGNORE] = "ignore",
	[1 + ERROR_MODE_SILENT] = "silent",
	[1 + ERROR_MODE_PROPAGATE] = "propagate",
	NULL,
};

static const char *const context_names[] = {
	[CONTEXT_NOT_GIVEN] = "",
	[1 + OTTL_RESOURCE] = "resource",
	[1 + OTTL_SCOPE] = "scope",
	[1 + OTTL_PROFILE] = "profile",
	[1 + OTTL_SAMPLE] = "sample",
	[1 + OTTL_FRAME] = "frame",
	[1 + OTTL_MAPPING] = "mapping",
	[CONTEXT_PROFILESAMPLE] = "profilesample",
	[CONTEXT_INSTRUMENTATION_SCOPE] = "instrumentation_scope",
	NULL,
};

/* All statements that are texts belong together: they have one cache, and one context. */
static const char *const list_of_group[] = { "statements", "together", NULL };

static const struct profcol_option group_options[] = {
	PROFCOL_OPTION_ENUM("context", struct transform_group_config, context, NULL, context_names,
			    "what the statements are about; without, what their paths name"),
	PROFCOL_OPTION_ENUM("error_mode", struct transform_group_config, error_mode, NULL,
			    group_error_mode_names, "for these; without, as the whole processor"),
	PROFCOL_OPTION_LIST("conditions", struct transform_group_config, conditions, NULL,
			    "one of them has to be true for the statements to be carried out"),
	PROFCOL_OPTION_LIST("statements", struct transform_group_config, statements, NULL,
			    "what is done, in this order"),
	PROFCOL_OPTION_END,
};

const struct profcol_option transform_options[] = {
	PROFCOL_OPTION_ENUM("error_mode", struct transform_config, error_mode, "ignore",
			    error_mode_names,
			    "when a statement cannot be carried out: go on and log, go on, or "
			    "refuse the batch"),
	PROFCOL_OPTION_SECTIONS_OR_TEXTS("profile_statements", struct transform_config,
					 profile_statements, struct transform_group_config,
					 group_options, list_of_group,
					 "OTTL statements, or groups of them"),
	PROFCOL_OPTION_BOOL("flatten_data", struct transform_config, flatten_data, NULL,
			    "of logs: has to be false"),
	PROFCOL_OPTION_ANY("trace_statements", struct transform_config, unread,
			   "of another signal: no effect"),
	PROFCOL_OPTION_ANY("metric_statements", struct transform_config, unread,
			   "of another signal: no effect"),
	PROFCOL_OPTION_ANY("log_statements", struct transform_config, unread,
			   "of another signal: no effect"),
	PROFCOL_OPTION_END,
};
