// SPDX-License-Identifier: Apache-2.0
#include "confighttp.h"

#include "base/base.h"

#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 256 };

/* "[::1]:80" is "::1". False for what is no name with a port or without. */
static bool host_name(const char *host, char to[NAME_MAX_BYTES])
{
	const char *begin = host, *end;

	if (host[0] == '[') {
		begin++;
		end = strchr(begin, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
	} else {
		end = strchrnul(host, ':');
	}
	if (end == begin || end - begin >= NAME_MAX_BYTES)
		return false;
	memcpy(to, begin, (size_t)(end - begin));
	to[end - begin] = '\0';
	return true;
}

bool confighttp_is_known_host(const char *host, const struct profcol_list *others)
{
	char name[NAME_MAX_BYTES];
	size_t length;

	if (!host[0]) // HTTP/1.0, which no browser speaks
		return true;
	if (!host_name(host, name))
		return false;
	length = strlen(name);
	if (name[length - 1] == '.')
		name[--length] = '\0';
	if (lookup_is_address(name))
		return true;
	if (!strcasecmp(name, "localhost"))
		return true;
	for (size_t i = 0; i < others->count; i++)
		if (!strcasecmp(name, others->items[i]))
			return true;
	return false;
}
