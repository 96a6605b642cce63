// SPDX-License-Identifier: Apache-2.0
#include "addresses.h"

#include "base/base.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES_MAX = 64 };

static bool has_ipv6(const struct addrinfo *found)
{
	while (found && found->ai_family != AF_INET6)
		found = found->ai_next;
	return found;
}

/*
 * One of them, as a URI has it. Where there are some of both kinds, those of IPv4 are written as
 * IPv6 has them: the core takes one kind at a time.
 */
static bool print_one(const struct addrinfo *address, bool as_ipv6, FILE *to)
{
	char host[NI_MAXHOST], port[NI_MAXSERV], *scope;

	if ((address->ai_family != AF_INET && address->ai_family != AF_INET6) ||
	    getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return false;
	scope = strchr(host, '%');
	if (!as_ipv6)
		fprintf(to, "%s:%s", host, port);
	else if (address->ai_family == AF_INET)
		fprintf(to, "%%5B::ffff:%s%%5D:%s", host, port);
	else if (scope)
		fprintf(to, "%%5B%.*s%%25%s%%5D:%s", (int)(scope - host), host, scope + 1, port);
	else
		fprintf(to, "%%5B%s%%5D:%s", host, port);
	return true;
}

char *addresses_print(const struct addrinfo *found)
{
	bool as_ipv6 = has_ipv6(found);
	size_t size, count = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fputs(as_ipv6 ? "ipv6:" : "ipv4:", to);
	for (; found && count < ADDRESSES_MAX; found = found->ai_next) {
		long before = ftell(to);

		if (count)
			fputc(',', to);
		if (print_one(found, as_ipv6, to))
			count++;
		else
			fseek(to, before, SEEK_SET);
	}
	if (fclose(to) || !count) {
		free(text);
		return NULL;
	}
	return text;
}

/* Is each of @these among @those? */
static bool are_among(const char *these, const char *those)
{
	size_t length;

	for (; *these; these += length + (these[length] == ',')) {
		const char *at = those;

		length = strcspn(these, ",");
		while (*at && (strcspn(at, ",") != length || memcmp(at, these, length) != 0)) {
			at += strcspn(at, ",");
			at += *at == ',';
		}
		if (!*at)
			return false;
	}
	return true;
}

bool addresses_are_same(const char *first, const char *second)
{
	enum { KIND = 5 };

	return !strncmp(first, second, KIND) && are_among(first + KIND, second + KIND) &&
	       are_among(second + KIND, first + KIND);
}
