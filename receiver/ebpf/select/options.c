// SPDX-License-Identifier: Apache-2.0
#include "options.h"

static const struct profcol_option text_options[] = {
	PROFCOL_OPTION_LIST("values", struct select_text_config, values, NULL,
			    "it is one of these"),
	PROFCOL_OPTION_LIST("regexes", struct select_text_config, regexes, NULL,
			    "or one of these patterns occurs in it"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option cgroup_options[] = {
	PROFCOL_OPTION_LIST("values", struct select_text_config, values, NULL,
			    "it is one of these, or below one of them"),
	PROFCOL_OPTION_LIST("regexes", struct select_text_config, regexes, NULL,
			    "or one of these patterns occurs in it"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option rule_options[] = {
	PROFCOL_OPTION_NESTED("executable", struct select_rule_config, executable, text_options,
			      "path of the program, as the process sees it"),
	PROFCOL_OPTION_NESTED("comm", struct select_rule_config, comm, text_options,
			      "name of the process, of at most 15 bytes"),
	PROFCOL_OPTION_NESTED("cgroup", struct select_rule_config, cgroup, cgroup_options,
			      "path of its cgroup"),
	PROFCOL_OPTION_NESTED("container_id", struct select_rule_config, container_id, text_options,
			      "id of its container, all 64 digits"),
	PROFCOL_OPTION_INT("uid", struct select_rule_config, uid, "-1", -1, UINT32_MAX - 1,
			   "number of its real user; -1: any"),
	PROFCOL_OPTION_INT("pid", struct select_rule_config, pid, "0", 0, INT32_MAX,
			   "number of the process, or of one that it descends from; 0: any"),
	PROFCOL_OPTION_END,
};

const struct profcol_option select_options[] = {
	PROFCOL_OPTION_SECTIONS("include", struct select_config, include, struct select_rule_config,
				rule_options, "sample only processes of which one of these holds"),
	PROFCOL_OPTION_SECTIONS("exclude", struct select_config, exclude, struct select_rule_config,
				rule_options, "sample no process of which one of these holds"),
	PROFCOL_OPTION_END,
};
