// SPDX-License-Identifier: Apache-2.0
#include "command_line_check.h"

#include <string.h>

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

struct profcol_error *command_line_check_view(const struct view_options *view, size_t configs)
{
	struct profcol_error *error = check_no_config(configs, "view");

	if (!error && !view->files[0])
		error = profcol_error_create(
			PROFCOL_CONFIG, "'view' needs a file to show: profcol view FILE.pb.gz");
	return error;
}

/* At most one of the ways to say what is recorded. */
static struct profcol_error *check_targets(const struct record_options *record, const char *command,
					   const char *choice)
{
	int targets = (record->pid != 0) + (record->comm != NULL) + (record->cgroup != NULL) +
		      (record->words != NULL);

	if (targets <= 1)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG, "'%s' takes one of %s", command, choice);
}

struct profcol_error *command_line_check_top(const struct record_options *top, size_t configs)
{
	struct profcol_error *error = check_no_config(configs, "top");

	return error ? error : check_targets(top, "top", "--pid, --comm and --cgroup");
}

struct profcol_error *command_line_check_record(const struct record_options *record, size_t configs)
{
	struct profcol_error *error = check_no_config(configs, "record");

	if (!error)
		error = check_targets(record, "record", "--pid, --comm, --cgroup and '-- PROGRAM'");
	if (error)
		return error;
	if (!record->file)
		return profcol_error_create(PROFCOL_CONFIG,
					    "'record' needs a file to write: -o FILE.pb.gz, "
					    "-o FILE.folded, -o FILE.otlp, -o FILE.html or "
					    "-o FILE.svg");
	return NULL;
}

struct profcol_error *command_line_check_comm(const char *value)
{
	enum { COMM_MAX = 15 };

	if (value[0] && strlen(value) <= COMM_MAX)
		return NULL;
	return profcol_error_create(
		PROFCOL_CONFIG,
		"flag '--comm' takes a name of 1 to %d bytes, which is all that "
		"the kernel keeps of one: --comm '%.15s'",
		COMM_MAX, value[0] ? value : "NAME");
}

struct profcol_error *command_line_read_event(const char *value, enum record_event *ret)
{
	static const char *const words[] = {
		[RECORD_CPU] = "cpu",
		[RECORD_OFF_CPU] = "off-cpu",
		[RECORD_WALL] = "wall",
		[RECORD_PAGE_FAULTS] = "page-faults",
		[RECORD_MEMORY_GROWTH] = "memory-growth",
		[RECORD_WAKERS] = "wakers",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(value, words[i])) {
			*ret = (enum record_event)i;
			return NULL;
		}
	return profcol_error_create(PROFCOL_CONFIG,
				    "flag '--event' takes cpu, off-cpu, wall, wakers, "
				    "page-faults or memory-growth, not '%s'",
				    value);
}
