// SPDX-License-Identifier: Apache-2.0
#include "command_line_check.h"

enum { SHADOW_SECONDS = 60 };

/* Of a command with a configuration of its own. */
static struct profcol_error *check_no_config(size_t configs, const char *command)
{
	if (!configs)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "flag '--config' has no meaning for '%s', which has its own; "
				    "keys of it are set by '--set'",
				    command);
}

struct profcol_error *command_line_check_shadow(struct shadow_options *shadow, size_t configs)
{
	struct profcol_error *error = check_no_config(configs, "shadow");

	if (error)
		return error;
	if (!shadow->address)
		return profcol_error_create(PROFCOL_CONFIG,
					    "'shadow' needs an address for the other profiler to "
					    "send to: --otlp 127.0.0.1:4317");
	shadow->seconds = shadow->seconds ? shadow->seconds : SHADOW_SECONDS;
	return NULL;
}

struct profcol_error *command_line_check_record(const struct record_options *record, size_t configs)
{
	struct profcol_error *error = check_no_config(configs, "record");
	int targets = (record->pid != 0) + (record->comm != NULL) + (record->cgroup != NULL) +
		      (record->words != NULL);

	if (error)
		return error;
	if (targets > 1)
		return profcol_error_create(PROFCOL_CONFIG,
					    "'record' takes one of --pid, --comm, --cgroup and "
					    "'-- PROGRAM'");
	if (!record->file)
		return profcol_error_create(PROFCOL_CONFIG,
					    "'record' needs a file to write: -o FILE.pb.gz, "
					    "-o FILE.folded or -o FILE.otlp");
	return NULL;
}
