/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of TLS: 1.2 and 1.3, by OpenSSL. Private to host/http. */
#pragma once

#include <profcol/errors.h>
#include <profcol/http.h>

#include <openssl/types.h>

struct http_tls;

/*
 * Read and check the files and texts of @settings, which are borrowed until destroy. CONFIG,
 * naming key and file, when one is missing or unusable. *@ret is NULL when @settings have no
 * certificate: plain text is wanted.
 */
PROFCOL_MUST_CHECK struct profcol_error *
http_tls_create(const struct profcol_http_settings *settings, struct http_tls **ret);
void http_tls_destroy(struct http_tls *tls); /* accepts NULL; sessions go on */

/*
 * A session for a new connection, the caller's; NULL without memory. When reload_interval has
 * passed and the files have changed, they are taken up first; while they are unusable, which is
 * logged once, what there was is kept. One thread at a time.
 */
SSL *http_tls_accept(struct http_tls *tls);
