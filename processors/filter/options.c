// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "attributes/attributes.h"
#include "ottl/ottl.h"

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
	[2 + OTTL_SAMPLE] = "profilesample", // the same
	NULL,
};

static const char *const list_of_group[] = { "conditions", NULL };

static const struct profcol_option group_options[] = {
	PROFCOL_OPTION_ENUM("context", struct filter_group_config, context, NULL, context_names,
			    "what the conditions are about; without, what their paths name"),
	PROFCOL_OPTION_ENUM("error_mode", struct filter_group_config, error_mode, NULL,
			    group_error_mode_names, "for these; without, as the whole filter"),
	PROFCOL_OPTION_LIST("conditions", struct filter_group_config, conditions, NULL,
			    "what is dropped: that of which one of them is true"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option profiles_options[] = {
	PROFCOL_OPTION_LIST("resource", struct filter_profiles_config, resource, NULL,
			    "conditions on resources"),
	PROFCOL_OPTION_LIST("profile", struct filter_profiles_config, profile, NULL,
			    "conditions on profiles"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option rule_options[] = {
	PROFCOL_OPTION_ENUM("level", struct filter_rule_config, level, "resource",
			    attributes_level_names,
			    "whose attribute; of locations and mappings: one on the stack"),
	PROFCOL_OPTION_REQUIRED_STRING("key", struct filter_rule_config, key, "the attribute"),
	PROFCOL_OPTION_LIST("values", struct filter_rule_config, values, NULL,
			    "its value as text is one of these"),
	PROFCOL_OPTION_LIST("regexes", struct filter_rule_config, regexes, NULL,
			    "or one of these patterns occurs in it; without both, any value"),
	PROFCOL_OPTION_END,
};

/* Of other signals: what is in them is not read. */
static const struct profcol_option unread_options[] = { PROFCOL_OPTION_END };

#define UNREAD(key_)                                                                               \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_NESTED,                                                           \
	  .nested = unread_options,                                                                \
	  .doc = "of another signal: no effect" }

const struct profcol_option filter_options[] = {
	PROFCOL_OPTION_ENUM("error_mode", struct filter_config, error_mode, "ignore",
			    error_mode_names,
			    "when a condition cannot be evaluated: keep and log, keep, or refuse "
			    "the batch"),
	PROFCOL_OPTION_SECTIONS_OR_TEXTS(
		"profile_conditions", struct filter_config, profile_conditions,
		struct filter_group_config, group_options, list_of_group,
		"OTTL conditions, or groups of them; what one of them is true of is dropped"),
	PROFCOL_OPTION_NESTED("profiles", struct filter_config, profiles, profiles_options,
			      "the older form"),
	PROFCOL_OPTION_SECTIONS("include_attributes", struct filter_config, include_attributes,
				struct filter_rule_config, rule_options,
				"keep only samples that have one of these"),
	PROFCOL_OPTION_SECTIONS("exclude_attributes", struct filter_config, exclude_attributes,
				struct filter_rule_config, rule_options,
				"drop samples that have one of these"),
	UNREAD("traces"),
	UNREAD("metrics"),
	UNREAD("logs"),
	UNREAD("spans"),
	UNREAD("trace_conditions"),
	UNREAD("metric_conditions"),
	UNREAD("log_conditions"),
	PROFCOL_OPTION_END,
};
