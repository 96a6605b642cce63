// SPDX-License-Identifier: Apache-2.0
#include "url.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535 };

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

/* Digits after ':', or nothing at all. */
static bool url_parse_port(struct http_url *url, const char *text, size_t length)
{
	size_t digits;

	if (!length) {
		snprintf(url->port, sizeof(url->port), "%d", url->tls ? 443 : 80);
		return true;
	}
	digits = strspn(text + 1, "0123456789");
	if (text[0] != ':' || digits != length - 1 || !digits || digits >= sizeof(url->port))
		return false;
	memcpy(url->port, text + 1, digits);
	url->port[digits] = '\0';
	return atoi(url->port) > 0 && atoi(url->port) <= PORT_MAX;
}

/* HOST or [ADDRESS], up to its port. */
static size_t url_parse_host(struct http_url *url, const char *text, size_t length)
{
	bool bracketed = length && text[0] == '[';
	const char *begin = text + bracketed, *end;

	end = memchr(begin, bracketed ? ']' : ':', length - bracketed);
	if (!end && bracketed)
		return 0;
	if (!end)
		end = text + length;
	if (end == begin || (size_t)(end - begin) >= sizeof(url->host))
		return 0;
	memcpy(url->host, begin, (size_t)(end - begin));
	url->host[end - begin] = '\0';
	url->literal = lookup_is_address(url->host);
	if (bracketed && !url->literal)
		return 0;
	return (size_t)(end - text) + bracketed;
}

bool http_url_parse(struct http_url *url, const char *text)
{
	size_t length, host;

	*url = (struct http_url){ .tls = !strncmp(text, "https://", 8) };
	if (!is_printable(text) || (!url->tls && strncmp(text, "http://", 7)))
		return false;
	text += url->tls ? 8 : 7;
	length = strcspn(text, "/?#");
	if (!length || memchr(text, '@', length) || text[length] == '#' ||
	    length >= sizeof(url->authority))
		return false;
	memcpy(url->authority, text, length);
	url->target = text + length;
	host = url_parse_host(url, text, length);
	return host && url_parse_port(url, text + host, length - host);
}

/* How the host at the begin of @text ends. */
enum host_end {
	HOST_END_PATH, /* in a path, a query, or nothing */
	HOST_END_PORT, /* in a port before these */
	HOST_END_TEXT, /* in a colon and no port: it is a user, and a password begins there */
};

static enum host_end host_end(const char *text)
{
	const char *end = text[0] == '[' ? text + strcspn(text, "]") : text;
	const char *colon = end + strcspn(end, ":/?#");
	size_t digits = *colon == ':' ? strspn(colon + 1, "0123456789") : 0;

	if (*colon != ':')
		return HOST_END_PATH;
	return digits && strchr("/?#", colon[1 + digits]) ? HOST_END_PORT : HOST_END_TEXT;
}

/* Where the host begins in @text, the URL behind its scheme: behind the '@' of a user, if there may
 * be one. A password that nobody has escaped may have any letter. */
static const char *find_host(const char *text)
{
	const char *at = memrchr(text, '@', strcspn(text, "/"));
	enum host_end end = host_end(text);

	if (!at && end == HOST_END_PATH)
		at = memrchr(text, '@', strcspn(text, "?#"));
	else if (!at && end == HOST_END_TEXT)
		at = strrchr(text, '@');
	return at ? at : text;
}

static size_t scheme_length(const char *text)
{
	size_t letters =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return strncmp(text + letters, "://", 3) ? 0 : letters + 3;
}

char *http_client_show_url(const char *text)
{
	size_t scheme = scheme_length(text);
	const char *begin = text + scheme, *host = find_host(begin);
	size_t length = strcspn(host, "?#");
	char *shown;

	if (asprintf(&shown, "%.*s%s%.*s%s", (int)scheme, text, host > begin ? "..." : "",
		     (int)length, host, host[length] == '?' ? "?..." : "") < 0)
		return NULL;
	return shown;
}

char *http_url_way(const struct http_url *url, const struct http_client_proxy *proxy)
{
	char *way;

	if (asprintf(&way, "%s %s %s %s %s", url->tls ? "https" : "http", url->host, url->port,
		     proxy ? proxy->host : "", proxy ? proxy->port : "") < 0)
		return NULL;
	return way;
}
