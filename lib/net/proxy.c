// SPDX-License-Identifier: Apache-2.0
#include "proxy.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ENTRY_MAX = 256, CREDENTIALS_MAX = 1024 };

/* The first of both that is not empty; "" without. */
static const char *either(const char *upper, const char *lower)
{
	const char *value = getenv(upper);

	if (value && value[0])
		return value;
	value = getenv(lower);
	return value ? value : "";
}

/* ---- addresses ---- */

/* An address as IPv6 has it, those of IPv4 inside of it. */
static bool parse_address(const char *text, struct in6_addr *ret)
{
	struct in_addr four;

	if (inet_pton(AF_INET6, text, ret) == 1)
		return true;
	if (inet_pton(AF_INET, text, &four) != 1)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
	memcpy(ret->s6_addr + 12, &four, sizeof(four));
	return true;
}

static bool is_loopback(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static bool has_same_bits(const struct in6_addr *first, const struct in6_addr *second,
			  unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff << (8 - rest));

	if (memcmp(first, second, whole) != 0)
		return false;
	return !rest || !((first->s6_addr[whole] ^ second->s6_addr[whole]) & mask);
}

/* "10.0.0.0/8": is @address in it? False also for what is no network. */
static bool network_has(char *text, const struct in6_addr *address)
{
	char *slash = strchr(text, '/'), *end;
	struct in6_addr network;
	unsigned long bits;
	bool is_four;

	if (!slash)
		return false;
	*slash = '\0';
	bits = strtoul(slash + 1, &end, 10);
	is_four = !strchr(text, ':');
	if (*end || end == slash + 1 || bits > (is_four ? 32 : 128) ||
	    !parse_address(text, &network))
		return false;
	return has_same_bits(&network, address, (unsigned int)bits + (is_four ? 96 : 0));
}

/* ---- who needs none ---- */

/* Take the port off @text; NULL when it has none. Brackets go with it. */
static char *split_port(char *text, char **host_ret)
{
	char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');

	*host_ret = text;
	if (text[0] == '[' && bracket) {
		*bracket = '\0';
		*host_ret = text + 1;
		return bracket[1] == ':' ? bracket + 2 : NULL;
	}
	// More than one colon: an IPv6 address.
	if (!colon || strchr(text, ':') != colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

/* "example.com" is it and what is below, ".example.com" and "*.example.com" only the latter. */
static bool name_has(const char *name, const char *host)
{
	size_t length, whole = strlen(host);
	bool below_only;

	if (name[0] == '*' && name[1] == '.')
		name++;
	below_only = name[0] == '.';
	if (below_only)
		name++;
	length = strlen(name);
	if (!length || whole < length || strcasecmp(host + whole - length, name) != 0)
		return false;
	return whole == length ? !below_only : host[whole - length - 1] == '.';
}

/* @entry is ours to change. */
static bool entry_has(char *entry, const char *host, const char *port,
		      const struct in6_addr *address)
{
	struct in6_addr other;
	char *name, *entry_port;

	if (!strcmp(entry, "*"))
		return true;
	if (strchr(entry, '/'))
		return address && network_has(entry, address);
	entry_port = split_port(entry, &name);
	if (entry_port && strcmp(entry_port, port) != 0)
		return false;
	if (parse_address(name, &other))
		return address && !memcmp(&other, address, sizeof(other));
	return !address && name_has(name, host);
}

static bool is_avoided(const char *host, const char *port)
{
	const char *entry = either("NO_PROXY", "no_proxy");
	struct in6_addr parsed, *address = parse_address(host, &parsed) ? &parsed : NULL;

	if (!strcasecmp(host, "localhost") || (address && is_loopback(address)))
		return true;
	while (*entry) {
		size_t length = strcspn(entry, ","), name_length;
		const char *name = entry + strspn(entry, " \t");
		char copy[ENTRY_MAX];

		entry += length;
		name_length = name < entry ? (size_t)(entry - name) : 0;
		while (name_length &&
		       (name[name_length - 1] == ' ' || name[name_length - 1] == '\t'))
			name_length--;
		entry += *entry == ',';
		// A longer one is no name.
		if (!name_length || name_length >= sizeof(copy))
			continue;
		memcpy(copy, name, name_length);
		copy[name_length] = '\0';
		if (entry_has(copy, host, port, address))
			return true;
	}
	return false;
}

/* ---- the proxy ---- */

/* "USER:PASSWORD", percent-encoded. NULL without memory. */
static char *make_authorization(const char *text, size_t length)
{
	char plain[CREDENTIALS_MAX], *made;
	size_t plain_length;

	if (length >= sizeof(plain) || !strings_decode_url(text, length, false, plain))
		return NULL;
	plain_length = strlen(plain);
	made = malloc(sizeof("Basic ") + STRINGS_BASE64_SIZE(plain_length));
	if (made)
		strings_base64(stpcpy(made, "Basic "), plain, plain_length);
	explicit_bzero(plain, sizeof(plain));
	return made;
}

bool proxy_parse(const char *text, struct proxy *ret)
{
	const char *scheme = strstr(text, "://"), *at;
	const char *default_port = "80";
	CLEANUP_FREE char *authority = NULL;
	char *name, *given;

	*ret = (struct proxy){ 0 };
	if (scheme) {
		default_port = !strncasecmp(text, "https:", 6)  ? "443"
			       : !strncasecmp(text, "socks", 5) ? "1080"
								: "80";
		text = scheme + 3;
	}
	authority = strndup(text, strcspn(text, "/?#"));
	if (!authority)
		return false;
	at = strrchr(authority, '@');
	if (at)
		ret->authorization = make_authorization(authority, (size_t)(at - authority));
	given = split_port(at ? authority + (at + 1 - authority) : authority, &name);
	ret->host = strdup(name);
	ret->port = strdup(given && given[0] ? given : default_port);
	if (ret->host && ret->host[0] && ret->port)
		return true;
	proxy_deinit(ret);
	return false;
}

static bool find(const char *text, const char *host, const char *port, struct proxy *ret)
{
	*ret = (struct proxy){ 0 };
	return text[0] && !is_avoided(host, port) && proxy_parse(text, ret);
}

bool proxy_find(const char *host, const char *port, struct proxy *ret)
{
	return find(either("HTTPS_PROXY", "https_proxy"), host, port, ret);
}

bool proxy_find_url(const char *url, struct proxy *ret)
{
	bool is_tls = !strncasecmp(url, "https://", 8);
	const char *text =
		is_tls ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
	const char *begin = strstr(url, "://");
	CLEANUP_FREE char *authority = NULL;
	char *port, *host;

	*ret = (struct proxy){ 0 };
	begin = begin ? begin + 3 : url;
	authority = strndup(begin, strcspn(begin, "/?#"));
	if (!authority)
		return false;
	port = split_port(authority, &host);
	return find(text, host, port && port[0] ? port : is_tls ? "443" : "80", ret);
}

void proxy_deinit(struct proxy *proxy)
{
	if (proxy->authorization)
		explicit_bzero(proxy->authorization, strlen(proxy->authorization));
	free(proxy->authorization);
	free(proxy->host);
	free(proxy->port);
	*proxy = (struct proxy){ 0 };
}

bool proxy_is_used(const char *host, const char *port)
{
	struct proxy proxy;
	bool used = proxy_find(host, port, &proxy);

	if (used)
		proxy_deinit(&proxy);
	return used;
}
