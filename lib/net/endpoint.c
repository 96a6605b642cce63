// SPDX-License-Identifier: Apache-2.0
#include "endpoint.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* Skip @prefix, whatever its case. */
static bool endpoint_skip(const char **text, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncasecmp(*text, prefix, length))
		return false;
	*text += length;
	return true;
}

static struct profcol_error *endpoint_parse_unix(struct endpoint *endpoint, const char *path)
{
	struct sockaddr_un address;

	if (!strncmp(path, "//", 2))
		path += 2;
	if (!path[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: unix socket path cannot be empty; write it "
					    "as unix:///PATH");
	if (strlen(path) >= sizeof(address.sun_path))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: the path of a unix socket has at most %zu "
					    "bytes, this one has %zu",
					    sizeof(address.sun_path) - 1, strlen(path));
	endpoint->path = strdup(path);
	if (!endpoint->path || asprintf(&endpoint->target, "unix:%s", path) < 0) {
		endpoint->target = NULL;
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	return NULL;
}

/* "host", "[v6]" or "" before the port, without the brackets; NULL without a sound port. */
static const char *endpoint_find_port(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (text[0] == '[') {
		const char *bracket = strchr(text, ']');

		return bracket && bracket[1] == ':' ? bracket + 2 : NULL;
	}
	// More than one colon outside of brackets: an IPv6 address without a port, or nonsense.
	return colon && colon == strchr(text, ':') ? colon + 1 : NULL;
}

static bool port_is_valid(const char *port, int least)
{
	size_t length = strlen(port);

	if (!length || length > 5 || strspn(port, "0123456789") != length)
		return false;
	return atoi(port) >= least && atoi(port) <= UINT16_MAX;
}

static bool host_is_valid(const char *host, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr(".-_:%", host[i]))
			return false;
	return length > 0;
}

/* Of an address to listen at, more is allowed. */
static struct profcol_error *endpoint_parse_address(struct endpoint *endpoint, const char *text,
						    bool listening)
{
	const char *port = endpoint_find_port(text), *host = text;
	bool bracketed = text[0] == '[';
	size_t length;

	if (!port)
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: address %s: missing port in address; write "
					    "it as HOST:PORT, e.g. %s:4317",
					    text, strchr(text, ':') ? "[ADDRESS]" : text);
	if (!port_is_valid(port, !listening))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: invalid port \"%s\"; write a number from %d "
					    "to 65535",
					    port, !listening);
	length = (size_t)(port - 1 - text);
	if (bracketed) {
		host++;
		length -= 2;
	}
	if (!host_is_valid(host, length) && !(listening && port == text + 1))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: \"%.*s\" is no host name or address; write "
					    "the endpoint as HOST:PORT",
					    (int)length, host);
	endpoint->host = strndup(host, length);
	endpoint->port = strdup(port);
	// RFC 6066: names in TLS have no dot at their end.
	endpoint->server_name =
		strndup(host, length > 1 && host[length - 1] == '.' ? length - 1 : length);
	if (!endpoint->host || !endpoint->port || !endpoint->server_name ||
	    asprintf(&endpoint->target, "dns://%s/%s",
		     endpoint->name_server ? endpoint->name_server : "", text) < 0) {
		endpoint->target = NULL;
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	return NULL;
}

/* An IPv4 address, or an IPv6 address in brackets. */
static bool address_is_valid(const char *text)
{
	size_t length = strlen(text);
	struct in6_addr address;
	char inner[INET6_ADDRSTRLEN];

	if (text[0] != '[')
		return inet_pton(AF_INET, text, &address) == 1;
	if (text[length - 1] != ']' || length - 2 >= sizeof(inner))
		return false;
	memcpy(inner, text + 1, length - 2);
	inner[length - 2] = '\0';
	return inet_pton(AF_INET6, inner, &address) == 1;
}

/* The name server in the @length bytes at @text: ADDRESS or ADDRESS:PORT. */
static struct profcol_error *endpoint_set_name_server(struct endpoint *endpoint, const char *text,
						      size_t length)
{
	CLEANUP_FREE char *server = strndup(text, length);
	const char *port = "53";
	char *colon;

	if (!server)
		return profcol_error_errno(ENOMEM, "endpoint");
	colon = strchr(server[0] == '[' ? strchrnul(server, ']') : server, ':');
	if (colon) {
		*colon = '\0';
		port = colon + 1;
	}
	if (!address_is_valid(server) || !port_is_valid(port, 1))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"endpoint: \"%.*s\" is no address of a name server; "
			"write dns://ADDRESS:PORT/HOST:PORT, or dns:///HOST:PORT "
			"to ask the system's",
			(int)length, text);
	if (asprintf(&endpoint->name_server, "%s:%s", server, port) < 0) {
		endpoint->name_server = NULL;
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	return NULL;
}

/* What comes after "dns:": maybe a name server between slashes, then the address. */
static struct profcol_error *endpoint_skip_name_server(struct endpoint *endpoint, const char **text)
{
	const char *server, *end;

	if (!strncmp(*text, "//", 2) && (*text)[2] != '/') {
		server = *text + 2;
		end = strchr(server, '/');
		if (end) {
			*text = end + 1;
			return endpoint_set_name_server(endpoint, server, (size_t)(end - server));
		}
	}
	*text += strspn(*text, "/");
	return NULL;
}

static struct profcol_error *endpoint_parse(struct endpoint *endpoint, const char *text)
{
	struct profcol_error *error = NULL;

	if (endpoint_skip(&text, "unix:"))
		return endpoint_parse_unix(endpoint, text);
	if (endpoint_skip(&text, "https://"))
		endpoint->forces_tls = true;
	else if (endpoint_skip(&text, "dns:"))
		error = endpoint_skip_name_server(endpoint, &text);
	else if (endpoint_skip(&text, "passthrough:"))
		text += strspn(text, "/");
	else
		endpoint_skip(&text, "http://");
	if (error)
		return error;
	if (!text[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: requires a non-empty \"endpoint\"; write it "
					    "as HOST:PORT");
	if (strstr(text, "://"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "endpoint: the scheme of \"%s\" is not known; write "
					    "HOST:PORT, dns:///HOST:PORT or unix:///PATH",
					    text);
	return endpoint_parse_address(endpoint, text, false);
}

struct profcol_error *endpoint_init(struct endpoint *endpoint, const char *text)
{
	struct profcol_error *error;

	*endpoint = (struct endpoint){ 0 };
	error = endpoint_parse(endpoint, text);
	if (error)
		endpoint_deinit(endpoint);
	return error;
}

struct profcol_error *endpoint_init_listening(struct endpoint *endpoint, const char *text,
					      bool is_unix)
{
	bool prefixed = endpoint_skip(&text, "unix:");
	struct profcol_error *error;

	*endpoint = (struct endpoint){ 0 };
	if (!text[0] && !prefixed)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "endpoint: requires a non-empty \"endpoint\"; write "
					     "it as %s",
					     is_unix ? "a path" : "HOST:PORT");
	else if (is_unix || prefixed)
		error = endpoint_parse_unix(endpoint, text);
	else if (strstr(text, "://"))
		error = profcol_error_create(PROFCOL_CONFIG,
					     "endpoint: \"%s\" is no address to listen at; write "
					     "HOST:PORT, or unix:///PATH",
					     text);
	else
		error = endpoint_parse_address(endpoint, text, true);
	if (error)
		endpoint_deinit(endpoint);
	return error;
}

void endpoint_deinit(struct endpoint *endpoint)
{
	free(endpoint->target);
	free(endpoint->host);
	free(endpoint->server_name);
	free(endpoint->port);
	free(endpoint->path);
	free(endpoint->name_server);
	*endpoint = (struct endpoint){ 0 };
}
