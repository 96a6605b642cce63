// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

/* Files that are used together, and whether they are looked at again. */
struct tls_watch {
	const char *paths[TLS_STAMP_FILES]; /* borrowed */
	/* Reads and checks them: the caller's to deinit, on error too. */
	struct profcol_error *(*load)(const struct tls_server_settings *settings,
				      struct tls_material *material);
	uint64_t interval_ns;           /* 0 = never */
	uint64_t after_ns;              /* CLOCK_MONOTONIC */
	struct tls_stamp stamp;         /* of what is in use */
	struct tls_complaint complaint; /* of what is not */
};

struct tls_server {
	struct tls_server_settings settings; /* what it points to is borrowed */
	struct tls_material material;        /* in use */
	SSL_CTX *context;                    /* owned: made of it */
	/* Apart: an authority that is removed does not wait for a certificate that is unusable. */
	struct tls_watch pair, roots;
};

static struct profcol_error *tls_server_load_pair(const struct tls_server_settings *settings,
						  struct tls_material *material)
{
	return tls_load_pair(&settings->pair, material);
}

static struct profcol_error *tls_server_load_roots(const struct tls_server_settings *settings,
						   struct tls_material *material)
{
	struct profcol_error *error;
	char label[384];

	error = tls_read_text("tls.client_ca_file", settings->client_ca_file, "", &material->roots);
	if (error || !material->roots)
		return error;
	tls_print_label(label, sizeof(label), "client_ca", settings->client_ca_file);
	return tls_check_certificates(label, material->roots);
}

struct profcol_error *tls_server_probe(const struct tls_server_settings *settings)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	struct profcol_error *error = tls_server_load_pair(settings, &material);

	return error ? error : tls_server_load_roots(settings, &material);
}

static void text_swap(char **first, char **second)
{
	char *text = *first;

	*first = *second;
	*second = text;
}

/* What @fresh has goes into use, and what it replaces into @fresh. */
static void tls_server_use(struct tls_server *server, struct tls_material *fresh)
{
	if (fresh->roots)
		text_swap(&server->material.roots, &fresh->roots);
	if (fresh->certificate) {
		text_swap(&server->material.certificate, &fresh->certificate);
		text_swap(&server->material.key, &fresh->key);
	}
}

/* Read the files for the first time. */
static struct profcol_error *tls_watch_start(struct tls_server *server, struct tls_watch *watch)
{
	CLEANUP(tls_material_deinit) struct tls_material fresh = { 0 };
	struct profcol_error *error;

	// Stamped first: a change while we read is seen the next time.
	watch->stamp = tls_stamp_files(watch->paths);
	watch->after_ns = clock_monotonic_ns() + watch->interval_ns;
	error = watch->load(&server->settings, &fresh);
	if (!error)
		tls_server_use(server, &fresh);
	return error;
}

static void complain(const struct tls_server *server, const struct profcol_error *error)
{
	if (server->settings.logger)
		profcol_log_warn(server->settings.logger,
				 "cannot use the changed TLS files: %s; going on with the old ones",
				 profcol_error_message(error));
}

/* Read the files if they have changed. Is there anything new? */
static bool tls_watch_refresh(struct tls_server *server, struct tls_watch *watch)
{
	CLEANUP(tls_material_deinit) struct tls_material fresh = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	uint64_t now = clock_monotonic_ns();
	struct tls_stamp stamp;

	if (!watch->interval_ns || now < watch->after_ns)
		return false;
	watch->after_ns = now + watch->interval_ns;
	stamp = tls_stamp_files(watch->paths);
	if (tls_stamp_equal(&stamp, &watch->stamp)) {
		watch->complaint.made = false;
		return false;
	}
	error = watch->load(&server->settings, &fresh);
	if (error) {
		// The stamp stays: not every fault, such as too many open files, leaves the files
		// different when it is over.
		if (tls_complaint_is_new(&watch->complaint, &stamp, profcol_error_message(error)))
			complain(server, error);
		return false;
	}
	watch->stamp = stamp;
	watch->complaint.made = false;
	tls_server_use(server, &fresh);
	if (server->settings.logger)
		profcol_log_info(server->settings.logger,
				 "the TLS files have changed and are in use");
	return true;
}

/* ---- what is made of them ---- */

static void context_cleanup(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

/* Demand a certificate of one of these authorities from each client. */
static bool use_roots(SSL_CTX *context, const char *pem)
{
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return tls_context_trust(context, pem) > 0;
}

/* Of what the client offers the one that we like best. A client that offers none is not asked. */
static int choose_protocol(SSL *session, const unsigned char **ret, unsigned char *length_ret,
			   const unsigned char *offered, unsigned int offered_length,
			   void *user_data)
{
	const char *protocols = user_data;
	unsigned char *chosen;

	(void)session;
	if (SSL_select_next_proto(&chosen, length_ret, (const unsigned char *)protocols,
				  (unsigned int)strlen(protocols), offered,
				  offered_length) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int version_number(const char *version, int otherwise)
{
	if (!version[0])
		return otherwise;
	return !strcmp(version, "1.3") ? TLS1_3_VERSION : TLS1_2_VERSION;
}

static void context_set_up(const struct tls_server *server, SSL_CTX *context)
{
	SSL_CTX_set_min_proto_version(context,
				      version_number(server->settings.min_version, TLS1_2_VERSION));
	SSL_CTX_set_max_proto_version(context,
				      version_number(server->settings.max_version, TLS1_3_VERSION));
	// A session that is kept costs memory, and lets a client in that would be refused by now.
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					     SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	// As RFC 9113 wants it of TLS 1.2: no cipher suite without forward secrecy and AEAD.
	SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
	if (server->settings.protocols)
		SSL_CTX_set_alpn_select_cb(context, choose_protocol,
					   (void *)(uintptr_t)server->settings.protocols);
}

/* Make the context anew, of the material in use. */
static struct profcol_error *tls_server_apply(struct tls_server *server)
{
	CLEANUP(context_cleanup) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	const struct tls_material *material = &server->material;
	bool usable = context;

	if (usable) {
		context_set_up(server, context);
		usable = tls_context_identify(context, material->certificate, material->key) &&
			 (!material->roots || use_roots(context, material->roots));
	}
	ERR_clear_error();
	if (!usable)
		return profcol_error_create(
			PROFCOL_CONFIG, "tls.cert_file: OpenSSL cannot use this certificate and "
					"its key; try one with an RSA key of 2048 bits, or with "
					"P-256");
	SSL_CTX_free(server->context);
	server->context = TAKE(context);
	return NULL;
}

/* ---- life ---- */

struct profcol_error *tls_server_create(const struct tls_server_settings *settings,
					struct tls_server **ret)
{
	struct tls_server *server = calloc(1, sizeof(*server));
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "tls");
	server->settings = *settings;
	server->pair = (struct tls_watch){
		.paths = { settings->pair.cert_file, settings->pair.key_file, "" },
		.load = tls_server_load_pair,
		.interval_ns = settings->reload_interval_ns,
	};
	server->roots = (struct tls_watch){
		.paths = { settings->client_ca_file, "", "" },
		.load = tls_server_load_roots,
		.interval_ns = settings->client_ca_reload_interval_ns,
	};
	error = tls_watch_start(server, &server->pair);
	if (!error)
		error = tls_watch_start(server, &server->roots);
	if (!error)
		error = tls_server_apply(server);
	if (error)
		tls_server_destroy(server);
	else
		*ret = server;
	return error;
}

SSL *tls_server_accept(struct tls_server *server)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	bool pair = tls_watch_refresh(server, &server->pair);
	bool roots = tls_watch_refresh(server, &server->roots);

	if (pair || roots)
		error = tls_server_apply(server);
	if (error)
		complain(server, error);
	return SSL_new(server->context);
}

void tls_server_destroy(struct tls_server *server)
{
	if (!server)
		return;
	SSL_CTX_free(server->context);
	tls_material_deinit(&server->material);
	free(server);
}
