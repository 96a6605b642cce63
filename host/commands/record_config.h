/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that `record` runs with, which no file holds. Pure. */
#pragma once

#include "command_line.h"
#include "record_output.h"

/*
 * A source for --config, "yaml:{...}", that records what @options say, and in their place @pid
 * when that is not 0, to @output. The caller frees; NULL without memory.
 */
char *record_config(const struct record_options *options, int32_t pid,
		    const struct record_output *output);
