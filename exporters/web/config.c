// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

const struct profcol_option web_options[] = {
	CONFIGHTTP_SERVER_OPTIONS(struct web_config, server, "localhost:7020"),
	PROFCOL_OPTION_READ_FILE(
		"token_file", struct web_config, token_file,
		"file with the token that clients have to show, as a bearer token or "
		"as a password; needed beyond localhost, unless tls.client_ca_file "
		"is there"),
	PROFCOL_OPTION_LIST("hosts", struct web_config, hosts, NULL,
			    "names by which browsers may call this server, besides localhost and "
			    "addresses"),
	PROFCOL_OPTION_DURATION("retention", struct web_config, retention_ns, "1h", PROFCOL_MINUTE,
				168 * PROFCOL_HOUR, "how long profiles are kept, 1m to 168h"),
	PROFCOL_OPTION_BYTES("memory", struct web_config, memory_bytes, "32MiB", 4 << 20, 0,
			     "for what is kept, at least 4MiB; the oldest goes when it is full"),
	PROFCOL_OPTION_DURATION("query_timeout", struct web_config, query_timeout_ns, "5s",
				100 * PROFCOL_MILLISECOND, PROFCOL_MINUTE,
				"that one answer may take to be made, 100ms to 1m"),
	PROFCOL_OPTION_END,
};

bool web_config_is_local(const struct web_config *config)
{
	struct confighttp_endpoint endpoint;
	struct profcol_error *error = confighttp_endpoint_init(&endpoint, config->server.endpoint);
	struct in6_addr v6;
	struct in_addr v4;
	bool local;

	if (error) {
		profcol_error_destroy(error);
		return false;
	}
	if (inet_pton(AF_INET, endpoint.host, &v4) == 1)
		local = ntohl(v4.s_addr) >> 24 == 127;
	else if (inet_pton(AF_INET6, endpoint.host, &v6) == 1)
		local = IN6_IS_ADDR_LOOPBACK(&v6);
	else // other names are whatever their resolver says
		local = !strcasecmp(endpoint.host, "localhost");
	confighttp_endpoint_deinit(&endpoint);
	return local;
}

struct profcol_error *web_config_validate(const void *options)
{
	const struct web_config *config = options;
	struct profcol_error *error = confighttp_server_validate(&config->server);
	bool knows_clients = config->server.tls_named && config->server.tls.client_ca_file[0];

	if (!error && !config->token_file[0] && !knows_clients && !web_config_is_local(config))
		error = profcol_error_create(
			PROFCOL_CONFIG,
			"endpoint: '%.200s' can be reached from other machines, and profiles are "
			"not "
			"for everybody; set token_file, or tls.client_ca_file, or listen at "
			"localhost",
			config->server.endpoint);
	return error;
}
