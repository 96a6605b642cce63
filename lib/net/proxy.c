// SPDX-License-Identifier: Apache-2.0
#include "proxy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Also when it is empty, which means "none" and keeps the next one from being asked. */
static const char *first_set(const char *const *variables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = getenv(variables[i]);

		if (value)
			return value;
	}
	return NULL;
}

static bool proxy_is_configured(void)
{
	static const char *const variables[] = { "grpc_proxy", "https_proxy", "http_proxy" };
	static const char scheme[] = "http://";
	const char *value = first_set(variables, sizeof(variables) / sizeof(variables[0]));

	// gRPC ignores what is anything else.
	return value && !strncmp(value, scheme, strlen(scheme)) && value[strlen(scheme)];
}

/* Does @host end with the @length bytes of @end, whatever their case? */
static bool host_ends_with(const char *host, const char *end, size_t length)
{
	size_t whole = strlen(host);

	return length && length <= whole && !strncasecmp(host + whole - length, end, length);
}

static bool proxy_is_avoided(const char *host)
{
	static const char *const variables[] = { "no_grpc_proxy", "no_proxy" };
	const char *entry = first_set(variables, sizeof(variables) / sizeof(variables[0]));

	while (entry) {
		const char *comma = strchrnul(entry, ',');

		if (host_ends_with(host, entry, (size_t)(comma - entry)))
			return true;
		entry = *comma ? comma + 1 : NULL;
	}
	return false;
}

bool proxy_is_used(const char *host)
{
	return proxy_is_configured() && !proxy_is_avoided(host);
}
