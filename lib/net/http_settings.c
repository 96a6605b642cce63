// SPDX-License-Identifier: Apache-2.0
#include "net.h"
#include "tls.h"

#include "base/base.h"
#include "http_client/http_client.h"

#include <string.h>
#include <strings.h>

const struct profcol_option net_post_compression_options[] = {
	PROFCOL_OPTION_INT("level", struct net_post_compression_config, level, "0", INT32_MIN,
			   INT32_MAX, "1 to 9, of zstd to 19; else the usual one"),
	PROFCOL_OPTION_END,
};

const struct profcol_option net_post_cookies_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct net_post_cookies_config, enabled, "false",
			    "no effect"),
	PROFCOL_OPTION_END,
};

struct profcol_error *net_http_check_url(const char *key, const char *text)
{
	CLEANUP_FREE char *shown = NULL;

	if (!text[0] || http_client_is_url(text))
		return NULL;
	shown = http_client_show_url(text);
	return profcol_error_create(
		PROFCOL_CONFIG,
		"%s: '%s' is not a URL: it has to be http://HOST[:PORT][/PATH], "
		"or https://",
		key, shown ? shown : "");
}

/* Headers that profcol sets itself. */
static bool is_reserved(const char *key)
{
	static const char *const reserved[] = { "content-type",   "content-encoding",
						"content-length", "transfer-encoding",
						"connection",     "host" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcasecmp(key, reserved[i]))
			return true;
	return false;
}

static struct profcol_error *check_header(const char *key, const char *value)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";

	if (!key[0] || key[strspn(key, token)])
		return profcol_error_create(PROFCOL_CONFIG,
					    "headers: \"%s\" is no name of a header; use letters, "
					    "digits and '-'",
					    key);
	if (is_reserved(key))
		return profcol_error_create(PROFCOL_CONFIG,
					    "headers: \"%s\" is set by profcol itself; leave "
					    "it out",
					    key);
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return profcol_error_create(PROFCOL_CONFIG,
						    "headers: the value of \"%s\" holds a control "
						    "character",
						    key);
	return NULL;
}

static struct profcol_error *check_proxy(const char *text)
{
	if (!text[0] || (!strncmp(text, "http://", 7) && text[7]))
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "proxy_url: a proxy is http://[USER:PASSWORD@]HOST[:PORT]; the "
				    "connection to it is plain, also for https");
}

/* As the Collector has it. */
static struct profcol_error *check_level(const struct net_http_config *config)
{
	int64_t level = config->compression_params.level;

	switch (config->compression) {
	case NET_POST_EMPTY:
	case NET_POST_NONE:
	case NET_POST_ZSTD:
		return NULL;
	case NET_POST_GZIP:
	case NET_POST_ZLIB:
	case NET_POST_DEFLATE:
		if (level >= -2 && level <= 9)
			return NULL;
		break;
	default:
		if (!level)
			return NULL;
		break;
	}
	return profcol_error_create(PROFCOL_CONFIG,
				    "compression_params: unsupported parameters {Level:%lld} for "
				    "compression type \"%s\"",
				    (long long)level,
				    net_post_compression_names[config->compression]);
}

struct profcol_error *net_http_validate(const struct net_http_config *config)
{
	const struct profcol_map *headers = &config->headers;
	struct profcol_error *error = check_proxy(config->proxy_url);

	if (!error)
		error = tls_client_validate(&config->tls);
	if (!error)
		error = check_level(config);
	for (size_t i = 0; i < headers->count && !error; i++)
		error = check_header(headers->keys[i], headers->values[i]);
	return error ? error : net_refuse_extensions(&config->auth, &config->middlewares);
}
