// SPDX-License-Identifier: Apache-2.0
#include "net.h"

const char *const net_post_encoding_names[] = { "proto", "json", NULL };

struct profcol_error *net_post_validate(const struct net_post_config *config)
{
	struct profcol_error *error = NULL;

	if (!config->http.endpoint[0] && !config->profiles_endpoint[0])
		error = profcol_error_create(
			PROFCOL_CONFIG, "at least one endpoint must be specified: set endpoint "
					"(profcol adds /v1development/profiles) or "
					"profiles_endpoint");
	if (!error)
		error = net_http_check_url("endpoint", config->http.endpoint);
	if (!error)
		error = net_http_check_url("profiles_endpoint", config->profiles_endpoint);
	if (!error)
		error = net_http_validate(&config->http);
	return error;
}
