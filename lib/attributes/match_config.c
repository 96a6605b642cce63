// SPDX-License-Identifier: Apache-2.0
/* The options of `include` and `exclude`. */
#include "attributes.h"

const char *const attributes_level_names[] = {
	[ATTRIBUTES_RESOURCE] = "resource",
	[ATTRIBUTES_SAMPLE] = "sample",
	[ATTRIBUTES_LOCATION] = "location",
	[ATTRIBUTES_MAPPING] = "mapping",
	NULL,
};

static const struct profcol_option property_options[] = {
	PROFCOL_OPTION_STRING("key", struct attributes_property_config, key, NULL,
			      "the attribute that has to be there"),
	PROFCOL_OPTION_ANY("value", struct attributes_property_config, value,
			   "its value; with match_type: regexp, a pattern that occurs in it; "
			   "without, any value will do"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option library_options[] = {
	PROFCOL_OPTION_STRING("name", struct attributes_library_config, name, NULL,
			      "name of the instrumentation scope"),
	PROFCOL_OPTION_ANY("version", struct attributes_library_config, version,
			   "its version; without, any version will do"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option regexp_options[] = {
	PROFCOL_OPTION_BOOL("cacheenabled", struct attributes_regexp_config, cache_enabled, "false",
			    "no effect: nothing is matched twice in a batch"),
	PROFCOL_OPTION_INT("cachemaxnumentries", struct attributes_regexp_config, cache_max_entries,
			   "0", INT64_MIN, INT64_MAX, "no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option unread_options[] = { PROFCOL_OPTION_END };

#define MATCH struct attributes_match_config

const struct profcol_option attributes_match_options[] = {
	PROFCOL_OPTION_STRING("match_type", MATCH, match_type, NULL,
			      "strict: values are equal; regexp: patterns occur in them"),
	PROFCOL_OPTION_NESTED("regexp", MATCH, regexp, regexp_options, "no effect"),
	PROFCOL_OPTION_LIST("services", MATCH, services, NULL,
			    "values of the resource's service.name: one of them"),
	PROFCOL_OPTION_SECTIONS("attributes", MATCH, attributes, struct attributes_property_config,
				property_options, "attributes of the level: all of them"),
	PROFCOL_OPTION_SECTIONS("resources", MATCH, resources, struct attributes_property_config,
				property_options, "attributes of the resource: all of them"),
	PROFCOL_OPTION_SECTIONS("libraries", MATCH, libraries, struct attributes_library_config,
				library_options, "the instrumentation scope"),
	PROFCOL_OPTION_LIST("span_names", MATCH, span_names, NULL, "not for profiles: an error"),
	PROFCOL_OPTION_LIST("span_kinds", MATCH, span_kinds, NULL, "not for profiles: an error"),
	PROFCOL_OPTION_LIST("log_bodies", MATCH, log_bodies, NULL, "not for profiles: an error"),
	PROFCOL_OPTION_LIST("log_severity_texts", MATCH, log_severity_texts, NULL,
			    "not for profiles: an error"),
	PROFCOL_OPTION_OPTIONAL("log_severity_number", MATCH, log_severity_number_named,
				log_severity_number_named, unread_options,
				"not for profiles: an error"),
	PROFCOL_OPTION_LIST("metric_names", MATCH, metric_names, NULL,
			    "not for profiles: an error"),
	PROFCOL_OPTION_END,
};
