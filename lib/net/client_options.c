// SPDX-License-Identifier: Apache-2.0
#include "endpoint.h"
#include "net.h"
#include "tls.h"

#include "base/base.h"

#include <ctype.h>
#include <string.h>

const char *const net_compression_names[] = {
	[NET_COMPRESSION_EMPTY] = "", [NET_GZIP] = "gzip",         [NET_SNAPPY] = "snappy",
	[NET_ZSTD] = "zstd",          [NET_UNCOMPRESSED] = "none", NULL,
};

const char *const net_balancer_names[] = {
	[NET_BALANCER_EMPTY] = "",
	[NET_ROUND_ROBIN] = "round_robin",
	[NET_PICK_FIRST] = "pick_first",
	NULL,
};

const struct profcol_option net_keepalive_options[] = {
	PROFCOL_OPTION_DURATION("time", struct net_keepalive_config, time_ns, "10s", 0, 0,
				"a ping after this long without traffic; 0 = none"),
	PROFCOL_OPTION_DURATION("timeout", struct net_keepalive_config, timeout_ns, "10s", 0, 0,
				"without an answer to it the connection is given up; 0 = 20s"),
	PROFCOL_OPTION_BOOL("permit_without_stream", struct net_keepalive_config,
			    permit_without_stream, "false", "ping also while no request is open"),
	PROFCOL_OPTION_END,
};

const struct profcol_option net_auth_options[] = {
	PROFCOL_OPTION_STRING("authenticator", struct net_auth_config, authenticator, NULL,
			      "not supported: must be empty"),
	PROFCOL_OPTION_END,
};

/* Headers that gRPC sets itself. */
static bool header_is_reserved(const char *key)
{
	static const char *const reserved[] = { "content-type", "te", "user-agent", "host" };

	if (!strncasecmp(key, "grpc-", strlen("grpc-")))
		return true;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcasecmp(key, reserved[i]))
			return true;
	return false;
}

static struct profcol_error *header_validate(const char *key, const char *value)
{
	size_t length = strlen(key);
	bool binary = length > 4 && !strcasecmp(key + length - 4, "-bin");

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)key[i]) && !strchr("-_.", key[i]))
			length = 0;
	if (!length)
		return profcol_error_create(PROFCOL_CONFIG,
					    "headers: \"%s\" is no name of a header; use letters, "
					    "digits, '-', '_' and '.'",
					    key);
	if (header_is_reserved(key))
		return profcol_error_create(
			PROFCOL_CONFIG, "headers: \"%s\" is set by gRPC itself%s", key,
			strcasecmp(key, "user-agent") ? "; leave it out" : "; use user_agent");
	for (const char *c = value; *c && !binary; c++)
		if (*c < ' ' || *c > '~')
			return profcol_error_create(PROFCOL_CONFIG,
						    "headers: the value of \"%s\" holds a "
						    "character that is not printable ASCII",
						    key);
	return NULL;
}

struct profcol_error *net_refuse_extensions(const struct net_auth_config *auth,
					    const struct profcol_list *middlewares)
{
	if (auth->authenticator[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "auth.authenticator: profcol has no authenticators; "
					    "set the header they would set in 'headers'");
	if (middlewares->count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "middlewares: profcol has none; leave the key out");
	return NULL;
}

struct profcol_error *net_client_validate(const struct net_client_config *config)
{
	struct endpoint endpoint;
	struct profcol_error *error = endpoint_init(&endpoint, config->endpoint);

	if (!error)
		endpoint_deinit(&endpoint);
	if (!error)
		error = tls_client_validate(&config->tls);
	for (size_t i = 0; i < config->headers.count && !error; i++)
		error = header_validate(config->headers.keys[i], config->headers.values[i]);
	return error ? error : net_refuse_extensions(&config->auth, &config->middlewares);
}
