/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the command line: what flags of one command say together, and its longer texts. Pure.
 */
#pragma once

#include "command_line.h"

/* @configs is how many --config there are, of which these commands take none. */
PROFCOL_MUST_CHECK struct profcol_error *
command_line_check_record(const struct record_options *record, size_t configs);

/* The same of `top`. */
PROFCOL_MUST_CHECK struct profcol_error *command_line_check_top(const struct record_options *top,
								size_t configs);

/* The same of `view`. */
PROFCOL_MUST_CHECK struct profcol_error *command_line_check_view(const struct view_options *view,
								 size_t configs);

/* Sets what has a default, too. */
PROFCOL_MUST_CHECK struct profcol_error *command_line_check_shadow(struct shadow_options *shadow,
								   size_t configs);

extern const char command_line_no_config[];

/* Of the value of --comm: it can be the name of a process. */
PROFCOL_MUST_CHECK struct profcol_error *command_line_check_comm(const char *value);

/* Of the value of --event. */
PROFCOL_MUST_CHECK struct profcol_error *command_line_read_event(const char *value,
								 enum record_event *ret);
