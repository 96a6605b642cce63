// SPDX-License-Identifier: Apache-2.0
/* What the settings of an HTTP server are to the parts that gRPC's server has, too. */
#include "server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT_CA_RELOAD_NS = 1000000000 };

#define BODY_DEFAULT_BYTES ((size_t)20 << 20)
#define IDLE_DEFAULT_NS    UINT64_C(60000000000)

size_t net_http_server_message_bytes(const struct confighttp_server_config *config)
{
	uint64_t bytes = config->max_request_body_bytes;

	if (!bytes)
		return BODY_DEFAULT_BYTES;
	return bytes < INT32_MAX ? (size_t)bytes : (size_t)INT32_MAX;
}

static struct net_tls_server_config translate_tls(const struct confighttp_tls_config *tls)
{
	return (struct net_tls_server_config){
		.cert_file = tls->cert_file,
		.cert_pem = tls->cert_pem,
		.key_file = tls->key_file,
		.key_pem = tls->key_pem,
		.client_ca_file = tls->client_ca_file,
		.client_ca_file_reload = tls->client_ca_file_reload || tls->reload_interval_ns,
		.ca_file = "",
		.ca_pem = "",
		.min_version = tls->min_version,
		.max_version = tls->max_version,
		.reload_interval_ns = tls->reload_interval_ns || !tls->client_ca_file_reload
					      ? tls->reload_interval_ns
					      : CLIENT_CA_RELOAD_NS,
	};
}

struct net_server_config http_translate_config(const struct confighttp_server_config *config)
{
	struct net_server_config translated = {
		.endpoint = config->endpoint,
		.transport = NET_TCP,
		.tls_named = config->tls_named,
		.tls = translate_tls(&config->tls),
		.auth.authenticator = "",
	};

	translated.keepalive.server_parameters.max_connection_idle_ns =
		config->idle_timeout_ns ? config->idle_timeout_ns : IDLE_DEFAULT_NS;
	return translated;
}

bool http_translate(struct net_server *server)
{
	const struct confighttp_server_config *config = server->http.config;
	const struct profcol_map *headers = &config->response_headers;

	server->http.server = http_translate_config(config);
	server->http.extra = calloc(headers->count + 1, sizeof(*server->http.extra));
	if (!server->http.extra)
		return false;
	for (size_t i = 0; i < headers->count && i < RESPONSE_EXTRA_MAX; i++) {
		char *name = strdup(headers->keys[i]), *value = strdup(headers->values[i]);

		// HTTP/2 has names in lower case only.
		for (char *at = name; at && *at; at++)
			*at = (char)tolower((unsigned char)*at);
		server->http.extra[server->http.extra_count++] =
			(struct response_field){ .name = name, .value = value };
		if (!name || !value)
			return false;
	}
	return true;
}

struct profcol_error *net_http_server_validate(const struct confighttp_server_config *config)
{
	struct profcol_error *error = confighttp_server_validate(config);

	if (config->response_headers.count > RESPONSE_EXTRA_MAX)
		error = profcol_error_join(
			error,
			profcol_error_create(PROFCOL_CONFIG,
					     "response_headers: has %zu headers; leave "
					     "some out, so that there are %d at most",
					     config->response_headers.count, RESPONSE_EXTRA_MAX));
	return error;
}
