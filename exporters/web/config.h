/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `web` are read into, and what they cannot be. */
#pragma once

#include "confighttp/confighttp.h"

#include <profcol/errors.h>
#include <profcol/options.h>

#include <stdint.h>

struct web_config {
	struct confighttp_server_config server;
	const char *token_file; /* "" = none */
	struct profcol_list hosts;
	uint64_t retention_ns;
	uint64_t memory_bytes;
	uint64_t query_timeout_ns;
};

extern const struct profcol_option web_options[];

/* For profcol_component.validate. */
PROFCOL_MUST_CHECK struct profcol_error *web_config_validate(const void *config);

/* Does the endpoint take clients of this machine alone? */
bool web_config_is_local(const struct web_config *config);
