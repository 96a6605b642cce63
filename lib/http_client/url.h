/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a URL. Private to lib/http_client. Pure. */
#pragma once

#include "http_client.h"

#include <stdbool.h>

struct http_url {
	bool tls;
	bool literal;        /* @host is an address */
	char host[256];      /* without brackets */
	char port[6];        /* digits; the scheme's when the URL has none */
	char authority[272]; /* as the header Host has it */
	const char *target;  /* borrowed from the text; may be "", begin with '/' or '?' */
};

/* False for anything but http(s)://HOST[:PORT][/PATH][?QUERY] in printable ASCII. */
bool http_url_parse(struct http_url *url, const char *text);

/* Where connections for it lead, through @proxy (NULL = none); free(). NULL without memory. */
char *http_url_way(const struct http_url *url, const struct http_client_proxy *proxy);
