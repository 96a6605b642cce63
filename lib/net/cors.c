// SPDX-License-Identifier: Apache-2.0
/*
 * Cross-origin requests as the Collector's servers answer them (the Go package rs/cors with
 * credentials): a preflight is answered here, another request is handled whatever its origin, and
 * says in its answer whether that origin's scripts may read it. A service of any body refuses other
 * origins.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What rs/cors allows when nothing is named. */
static const char *const simple_headers[] = { "accept", "content-type", "x-requested-with" };

/* One '*' stands for any text. */
static bool matches(const char *pattern, const char *text, size_t length)
{
	const char *star = strchr(pattern, '*');
	size_t before, after;

	if (!star)
		return strlen(pattern) == length && !strncasecmp(pattern, text, length);
	before = (size_t)(star - pattern);
	after = strlen(star + 1);
	return length >= before + after && !strncasecmp(pattern, text, before) &&
	       !strncasecmp(star + 1, text + length - after, after);
}

static bool list_matches(const struct profcol_list *list, const char *text, size_t length)
{
	for (size_t i = 0; i < list->count; i++)
		if (matches(list->items[i], text, length))
			return true;
	return false;
}

static bool list_has(const struct profcol_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], text))
			return true;
	return false;
}

static bool header_is_allowed(const struct profcol_list *allowed, const char *name, size_t length)
{
	if (!allowed->count)
		for (size_t i = 0; i < sizeof(simple_headers) / sizeof(simple_headers[0]); i++)
			if (matches(simple_headers[i], name, length))
				return true;
	return list_has(allowed, "*") || list_matches(allowed, name, length);
}

/* All names of a list with commas. */
static bool headers_are_allowed(const struct profcol_list *allowed, const char *names,
				size_t length)
{
	while (length) {
		const char *comma = memchr(names, ',', length);
		size_t part = comma ? (size_t)(comma - names) : length, name = part;
		const char *at = names;

		while (name && *at == ' ') {
			at++;
			name--;
		}
		while (name && at[name - 1] == ' ')
			name--;
		if (name && !header_is_allowed(allowed, at, name))
			return false;
		names += comma ? part + 1 : part;
		length -= comma ? part + 1 : part;
	}
	return true;
}

static bool add_origin(struct net_call *call, const char *origin, size_t length)
{
	const struct confighttp_cors_config *cors = &call->server->http.config->cors;
	struct response *response = &call->response;

	if (list_has(&cors->allowed_origins, "*"))
		return response_add(response, false, "access-control-allow-origin", "*") &&
		       response_add(response, false, "access-control-allow-credentials", "true");
	return response_add(response, false, "access-control-allow-origin", "%.*s", (int)length,
			    origin) &&
	       response_add(response, false, "access-control-allow-credentials", "true");
}

static void answer_preflight(struct net_call *call, const char *origin, size_t origin_length,
			     const char *method, size_t method_length)
{
	const struct confighttp_cors_config *cors = &call->server->http.config->cors;
	struct response *response = &call->response;
	const char *names = "";
	size_t length = 0;

	response->status = 204;
	response_add(response, false, "vary",
		     "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
	call_head_find(call, "access-control-request-headers", &names, &length);
	if (!list_matches(&cors->allowed_origins, origin, origin_length) ||
	    !matches("POST", method, method_length) ||
	    !headers_are_allowed(&cors->allowed_headers, names, length))
		return;
	add_origin(call, origin, origin_length);
	response_add(response, false, "access-control-allow-methods", "POST");
	if (length)
		response_add(response, false, "access-control-allow-headers", "%.*s", (int)length,
			     names);
	if (cors->max_age)
		response_add(response, false, "access-control-max-age", "%lld",
			     (long long)cors->max_age);
}

static void add_exposed(struct net_call *call)
{
	const struct profcol_list *exposed = &call->server->http.config->cors.exposed_headers;
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;

	for (size_t i = 0; i < exposed->count; i++)
		length += strlen(exposed->items[i]) + 2;
	text = length ? calloc(1, length + 1) : NULL;
	for (size_t i = 0; text && i < exposed->count; i++) {
		if (i)
			strcat(text, ", ");
		strcat(text, exposed->items[i]);
	}
	if (text)
		response_add(&call->response, false, "access-control-expose-headers", "%s", text);
}

bool cors_allows_sender(const struct net_call *call)
{
	const struct confighttp_server_config *config = call->server->http.config;
	const char *origin;
	size_t length, count = call_head_find(call, "origin", &origin, &length);

	// Browsers alone say where a script is from.
	if (!count)
		return true;
	return count == 1 && config->cors_named &&
	       list_matches(&config->cors.allowed_origins, origin, length);
}

bool cors_read_head(struct net_call *call, bool is_options)
{
	const struct confighttp_server_config *config = call->server->http.config;
	const char *origin, *method;
	size_t origin_length, method_length;

	// Without origins that are allowed there is nothing to say.
	if (!config->cors_named || !config->cors.allowed_origins.count)
		return false;
	if (!call_head_find(call, "origin", &origin, &origin_length))
		return false;
	if (is_options &&
	    call_head_find(call, "access-control-request-method", &method, &method_length)) {
		answer_preflight(call, origin, origin_length, method, method_length);
		return true;
	}
	response_add(&call->response, false, "vary", "Origin");
	if (list_matches(&config->cors.allowed_origins, origin, origin_length)) {
		add_origin(call, origin, origin_length);
		add_exposed(call);
	}
	return false;
}
