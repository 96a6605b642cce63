// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define PPROF_PATH "/debug/pprof"

enum { NAME_MAX_BYTES = 64, SECONDS_MOST = 60 * 60 };

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-.";

size_t target_url_count(const struct pprof_remote_config *config)
{
	return (config->http.endpoint[0] != '\0') + config->endpoints.count;
}

const char *target_url(const struct pprof_remote_config *config, size_t index)
{
	if (!config->http.endpoint[0])
		return config->endpoints.items[index];
	return index ? config->endpoints.items[index - 1] : config->http.endpoint;
}

size_t target_count(const struct pprof_remote_config *config)
{
	return target_url_count(config) * (config->profiles.count ? config->profiles.count : 1);
}

bool target_is_name(const char *text)
{
	size_t length = strlen(text);

	return length && length <= NAME_MAX_BYTES && strspn(text, name_letters) == length;
}

/* The URL of a profile of a server, whose own may end in the path that all have. */
static char *join(const char *server, const char *name, uint64_t duration_ns)
{
	size_t length = strlen(server), path = strlen(PPROF_PATH);
	char query[64] = "", *url;

	while (length && server[length - 1] == '/')
		length--;
	if (length >= path && !memcmp(server + length - path, PPROF_PATH, path))
		length -= path;
	if (!strcmp(name, "profile"))
		snprintf(query, sizeof(query), "?seconds=%llu",
			 (unsigned long long)(duration_ns / PROFCOL_SECOND));
	return asprintf(&url, "%.*s" PPROF_PATH "/%s%s", (int)length, server, name, query) < 0
		       ? NULL
		       : url;
}

/* The last part of the path, if it may be a name; else empty. */
static char *find_name(const char *path)
{
	size_t length = strcspn(path, "?#"), begin;

	for (begin = length; begin && path[begin - 1] != '/'; begin--)
		;
	length -= begin;
	if (length > NAME_MAX_BYTES || strspn(path + begin, name_letters) < length)
		length = 0;
	return strndup(path + begin, length);
}

/* The part of @path by which a gateway tells servers apart. */
static char *find_prefix(const char *path)
{
	size_t length = strcspn(path, "?#"), tail = strlen(PPROF_PATH);

	while (length && path[length - 1] != '/')
		length--;
	while (length && path[length - 1] == '/')
		length--;
	if (length >= tail && !memcmp(path + length - tail, PPROF_PATH, tail))
		length -= tail;
	return strndup(path, length);
}

/* A URL of http_client_is_url(). */
static bool split(struct target *target)
{
	const char *host = strstr(target->url, "://") + 3;
	size_t authority = strcspn(host, "/?#"), length;
	const char *end = memchr(host, ']', authority), *port, *scheme;
	bool is_bracketed = host[0] == '[' && end;

	length = is_bracketed ? (size_t)(end - host) + 1 : strcspn(host, ":/?#");
	scheme = strncmp(target->url, "https:", 6) ? "80" : "443";
	port = host[length] == ':' ? host + length + 1 : NULL;
	target->port = port ? strndup(port, authority - length - 1) : strdup(scheme);
	target->address = is_bracketed ? strndup(host + 1, length - 2) : strndup(host, length);
	target->name = find_name(host + authority);
	target->path = find_prefix(host + authority);
	return target->port && target->address && target->name && target->path;
}

/* As Go's servers understand it: 30 s where the URL says nothing. */
static uint64_t find_duration(const struct target *target)
{
	const char *query = strchr(target->url, '?');
	const char *seconds = query ? strstr(query, "seconds=") : NULL;
	unsigned long count = strcmp(target->name, "profile") ? 0 : 30;

	if (seconds)
		count = strtoul(seconds + 8, NULL, 10);
	return (count < SECONDS_MOST ? count : SECONDS_MOST) * (uint64_t)PROFCOL_SECOND;
}

bool target_init(struct target *target, const struct pprof_remote_config *config, size_t index)
{
	const struct profcol_list *names = &config->profiles;
	size_t each = names->count ? names->count : 1;
	const char *url = target_url(config, index / each);

	*target = (struct target){ 0 };
	target->url = names->count ? join(url, names->items[index % each], config->duration_ns)
				   : strdup(url);
	if (!target->url || !split(target))
		return false;
	target->duration_ns = find_duration(target);
	return true;
}

void target_deinit(struct target *target)
{
	free(target->url);
	free(target->name);
	free(target->address);
	free(target->port);
	free(target->path);
}
