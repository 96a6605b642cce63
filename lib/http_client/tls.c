// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "base/base.h"
#include "tls/tls.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* A bundle of all the world's authorities has 220 KB. */
enum { PEM_MAX_BYTES = 4 << 20 };

static void ssl_ctx_cleanup(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

static struct profcol_error *tls_load_authorities(SSL_CTX *context,
						  const struct http_client_settings *settings)
{
	CLEANUP_FREE char *text = NULL;
	int status;

	if (!settings->ca_file && !settings->ca_pem) {
		SSL_CTX_set_default_verify_paths(context);
		ERR_clear_error();
		return NULL;
	}
	if (settings->ca_pem)
		return tls_context_trust(context, settings->ca_pem)
			       ? NULL
			       : profcol_error_create(PROFCOL_CONFIG,
						      "the text of the authorities to trust has no "
						      "certificate in PEM format");
	status = file_read(AT_FDCWD, settings->ca_file, PEM_MAX_BYTES, &text, NULL);
	if (status)
		return profcol_error_create(PROFCOL_CONFIG,
					    "cannot read the authorities to trust, '%s': %s",
					    settings->ca_file, strerrordesc_np(-status));
	if (!tls_context_trust(context, text))
		return profcol_error_create(PROFCOL_CONFIG,
					    "no certificate in '%s'; it has to be in PEM format",
					    settings->ca_file);
	return NULL;
}

struct profcol_error *http_client_tls_create(const struct http_client_settings *settings,
					     SSL_CTX **ret)
{
	CLEANUP(ssl_ctx_cleanup) SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct profcol_error *error;

	if (!context)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory for TLS");
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	error = tls_load_authorities(context, settings);
	if (error)
		return error;
	if (settings->cert_pem && settings->key_pem &&
	    !tls_context_identify(context, settings->cert_pem, settings->key_pem))
		return profcol_error_create(PROFCOL_CONFIG,
					    "our certificate and its key cannot be used: both have "
					    "to be in PEM format, fit each other, and the key has "
					    "to be without a password");
	SSL_CTX_set_verify(
		context, settings->insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	*ret = TAKE(context);
	return NULL;
}

SSL *http_client_tls_begin(const struct http_client *client, const struct http_url *url)
{
	const char *given = client->server_name ? client->server_name : url->host;
	bool literal = !client->server_name && url->literal;
	size_t length = strlen(given);
	CLEANUP_FREE char *name = NULL;
	SSL *session;
	bool fine;

	// RFC 6066: names in TLS have no dot at their end.
	name = strndup(given, length > 1 && given[length - 1] == '.' ? length - 1 : length);
	session = name ? SSL_new(client->trust) : NULL;
	if (!session)
		return NULL;
	if (literal)
		fine = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) == 1;
	else
		// The macro of that name would cast the constness away.
		fine = SSL_set1_host(session, name) == 1 &&
		       SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				name) == 1;
	if (!fine) {
		SSL_free(session);
		return NULL;
	}
	return session;
}

void http_client_tls_explain(SSL *session, unsigned long code, char *to, size_t size)
{
	long result = SSL_get_verify_result(session);
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	if (result != X509_V_OK && SSL_get_verify_mode(session) != SSL_VERIFY_NONE)
		snprintf(to, size, "the server's certificate is not accepted: %s",
			 X509_verify_cert_error_string(result));
	else if (reason)
		snprintf(to, size, "TLS failed: %s", reason);
	else
		snprintf(to, size, "TLS failed: the server hung up");
}
