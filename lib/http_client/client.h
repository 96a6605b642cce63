/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a client. Private to lib/http_client. */
#pragma once

#include "http_client.h"
#include "idle.h"
#include "url.h"

#include <openssl/types.h>

struct http_client {
	SSL_CTX *trust;         /* owned: authorities and our certificate; NULL = http only */
	char *server_name;      /* owned; NULL = the URL's host */
	struct idle_pool *idle; /* owned; NULL = each call has a connection of its own */
};

/* ---- tls.c ---- */

/* Authorities and our certificate. *@ret is the caller's to SSL_CTX_free. */
PROFCOL_MUST_CHECK struct profcol_error *
http_client_tls_create(const struct http_client_settings *settings, SSL_CTX **ret);

/* A session of a new connection to @url's host, the caller's; NULL without memory. */
SSL *http_client_tls_begin(const struct http_client *client, const struct http_url *url);

/* Why a session has failed with OpenSSL's @code (0 = none), as text in @to. */
void http_client_tls_explain(SSL *session, unsigned long code, char *to, size_t size);

/* ---- exchange.c ---- */

/* As http_client_call, with the parts of request->url. SIGPIPE is blocked. */
PROFCOL_MUST_CHECK struct profcol_error *
http_client_exchange(const struct http_client *client, const struct http_client_request *request,
		     const struct http_url *url, struct http_client_response *response);
