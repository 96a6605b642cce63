// SPDX-License-Identifier: Apache-2.0
#include "confighttp.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the port begins; NULL without one. */
static const char *find_port(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (text[0] == '[') {
		const char *bracket = strchr(text, ']');

		return bracket && bracket[1] == ':' ? bracket + 2 : NULL;
	}
	// More than one colon outside of brackets: an IPv6 address without a port, or nonsense.
	return colon && colon == strchr(text, ':') ? colon + 1 : NULL;
}

static bool is_port(const char *port)
{
	size_t length = strlen(port);

	return length && length <= 5 && strspn(port, "0123456789") == length &&
	       strtoul(port, NULL, 10) <= UINT16_MAX;
}

static bool is_host(const char *host, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr(".-_:%", host[i]))
			return false;
	return true;
}

static struct profcol_error *endpoint_check(const char *text, const char *port, const char *host,
					    size_t host_length)
{
	if (!port)
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: address %.300s: missing port in address; "
					    "write it as HOST:PORT, e.g. localhost:13133",
					    text);
	if (!is_port(port))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: invalid port \"%.300s\"; write a number "
					    "from 0 to 65535",
					    port);
	if (!is_host(host, host_length))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: \"%.*s\" is no host name or address; write "
					    "the endpoint as HOST:PORT",
					    (int)(host_length < 300 ? host_length : 300), host);
	return NULL;
}

struct profcol_error *confighttp_endpoint_init(struct confighttp_endpoint *endpoint,
					       const char *text)
{
	const char *port, *host = text;
	struct profcol_error *error;
	size_t length = 0;

	*endpoint = (struct confighttp_endpoint){ 0 };
	if (!text[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: requires a non-empty \"endpoint\"; write it "
					    "as HOST:PORT");
	if (strstr(text, "://"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: \"%.300s\" is no address to listen at; "
					    "write HOST:PORT",
					    text);
	port = find_port(text);
	if (port)
		length = (size_t)(port - 1 - text);
	if (port && text[0] == '[') {
		host++;
		length -= 2;
	}
	error = endpoint_check(text, port, host, length);
	if (error)
		return error;
	endpoint->host = strndup(host, length);
	endpoint->port = strdup(port);
	if (endpoint->host && endpoint->port)
		return NULL;
	confighttp_endpoint_deinit(endpoint);
	return profcol_error_errno(ENOMEM, "endpoint");
}

void confighttp_endpoint_deinit(struct confighttp_endpoint *endpoint)
{
	free(endpoint->host);
	free(endpoint->port);
	*endpoint = (struct confighttp_endpoint){ 0 };
}
