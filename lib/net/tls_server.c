// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#define TLS struct net_tls_server_config

enum { CLIENT_CA_RELOAD_NS = 1000000000 };

const struct profcol_option net_tls_server_options[] = {
	PROFCOL_OPTION_READ_FILE("cert_file", TLS, cert_file,
				 "PEM file of the server's certificate and its chain"),
	PROFCOL_OPTION_STRING("cert_pem", TLS, cert_pem, NULL, "the same as text"),
	PROFCOL_OPTION_READ_FILE("key_file", TLS, key_file,
				 "PEM file of the key of that certificate, without a password"),
	PROFCOL_OPTION_SECRET("key_pem", TLS, key_pem, "the same as text"),
	PROFCOL_OPTION_READ_FILE(
		"client_ca_file", TLS, client_ca_file,
		"clients have to show a certificate of the authorities in this PEM "
		"file (mTLS)"),
	PROFCOL_OPTION_BOOL("client_ca_file_reload", TLS, client_ca_file_reload, "false",
			    "take a changed client_ca_file up"),
	PROFCOL_OPTION_DURATION("reload_interval", TLS, reload_interval_ns, "0s", 0, 0,
				"how often a changed certificate and key are looked for; 0 = "
				"never"),
	PROFCOL_OPTION_STRING("ca_file", TLS, ca_file, NULL,
			      "no effect on a server: see client_ca_file"),
	PROFCOL_OPTION_STRING("ca_pem", TLS, ca_pem, NULL, "no effect on a server"),
	PROFCOL_OPTION_BOOL("include_system_ca_certs_pool", TLS, include_system_ca_certs_pool,
			    "false", "no effect on a server"),
	PROFCOL_OPTION_STRING("min_version", TLS, min_version, "\"1.2\"",
			      "profcol offers 1.2 and 1.3 here: must be 1.2"),
	PROFCOL_OPTION_STRING("max_version", TLS, max_version, NULL, "must be 1.3 or empty"),
	PROFCOL_OPTION_LIST("cipher_suites", TLS, cipher_suites, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_LIST("curve_preferences", TLS, curve_preferences, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_BOOL("include_insecure_cipher_suites", TLS, include_insecure_cipher_suites,
			    "false", "not supported: must be false"),
	PROFCOL_OPTION_NESTED("tpm", TLS, tpm, tls_tpm_options, "keys in a TPM: not supported"),
	PROFCOL_OPTION_END,
};

#undef TLS

/* Files that are used together, and whether they are looked at again. */
struct tls_watch {
	const char *paths[TLS_STAMP_FILES]; /* borrowed */
	/* Reads and checks them: the caller's to deinit, on error too. */
	struct profcol_error *(*load)(const struct net_tls_server_config *config,
				      struct tls_material *material);
	uint64_t interval_ns;           /* 0 = never */
	uint64_t after_ns;              /* CLOCK_MONOTONIC */
	struct tls_stamp stamp;         /* of what is in use */
	struct tls_complaint complaint; /* of what is not */
};

struct tls_server {
	const struct net_tls_server_config *config; /* borrowed, as the next two */
	const char *protocols;
	const struct profcol_logger *logger;
	struct tls_material material; /* in use */
	SSL_CTX *context;             /* owned: made of it */
	/* Apart: an authority that is removed does not wait for a certificate that is unusable. */
	struct tls_watch pair, roots;
};

struct profcol_error *tls_server_validate(const struct net_tls_server_config *config)
{
	const struct tls_pair_config pair = { config->cert_file, config->cert_pem, config->key_file,
					      config->key_pem };
	const struct tls_choices choices = {
		.min_version = config->min_version,
		.max_version = config->max_version,
		.cipher_suites = config->cipher_suites.count,
		.curve_preferences = config->curve_preferences.count,
		.insecure_cipher_suites = config->include_insecure_cipher_suites,
		.tpm = config->tpm.enabled,
	};
	struct profcol_error *error = tls_validate_pair(&pair);

	if (!error && !config->cert_file[0] && !config->cert_pem[0])
		error = profcol_error_create(PROFCOL_CONFIG,
					     "tls.cert_file: a server needs a certificate and its "
					     "key; set cert_file and key_file, or leave tls out");
	return error ? error : tls_refuse_unsupported(&choices);
}

static struct profcol_error *tls_server_load_pair(const struct net_tls_server_config *config,
						  struct tls_material *material)
{
	const struct tls_pair_config pair = { config->cert_file, config->cert_pem, config->key_file,
					      config->key_pem };

	return tls_load_pair(&pair, material);
}

static struct profcol_error *tls_server_load_roots(const struct net_tls_server_config *config,
						   struct tls_material *material)
{
	struct profcol_error *error;
	char label[384];

	error = tls_read_text("tls.client_ca_file", config->client_ca_file, "", &material->roots);
	if (error || !material->roots)
		return error;
	tls_print_label(label, sizeof(label), "client_ca", config->client_ca_file);
	return tls_check_certificates(label, material->roots);
}

struct profcol_error *tls_server_probe(const struct net_tls_server_config *config)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	struct profcol_error *error = tls_server_load_pair(config, &material);

	return error ? error : tls_server_load_roots(config, &material);
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
	error = watch->load(server->config, &fresh);
	if (!error)
		tls_server_use(server, &fresh);
	return error;
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
	error = watch->load(server->config, &fresh);
	if (error) {
		// The stamp stays: not every fault, such as too many open files, leaves the files
		// different when it is over.
		if (tls_complaint_is_new(&watch->complaint, &stamp, profcol_error_message(error)))
			profcol_log_warn(server->logger,
					 "cannot use the changed TLS files: %s; going on with the "
					 "old ones",
					 profcol_error_message(error));
		return false;
	}
	watch->stamp = stamp;
	watch->complaint.made = false;
	tls_server_use(server, &fresh);
	profcol_log_info(server->logger, "the TLS files have changed and are in use");
	return true;
}

/* ---- what is made of them ---- */

static void bio_cleanup(BIO **bio)
{
	BIO_free(*bio);
}

static void x509_cleanup(X509 **certificate)
{
	X509_free(*certificate);
}

static void pkey_cleanup(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void context_cleanup(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

static bool use_chain(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	bool first = true, usable = bio;
	X509 *certificate;

	while (usable && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		CLEANUP(x509_cleanup) X509 *owned = certificate;

		usable = first ? SSL_CTX_use_certificate(context, owned) == 1
			       : SSL_CTX_add1_chain_cert(context, owned) == 1;
		first = false;
	}
	return usable && !first;
}

/* tls_check_pair() has seen that it has no password. */
static bool use_key(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	CLEANUP(pkey_cleanup) EVP_PKEY *key = NULL;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	return key && SSL_CTX_use_PrivateKey(context, key) == 1 &&
	       SSL_CTX_check_private_key(context) == 1;
}

/* Demand a certificate of one of these authorities from each client. */
static bool use_roots(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate;

	while (bio && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		CLEANUP(x509_cleanup) X509 *owned = certificate;

		// One that is there twice is no fault.
		X509_STORE_add_cert(SSL_CTX_get_cert_store(context), owned);
		SSL_CTX_add_client_CA(context, owned);
	}
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return bio;
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
	if (!version || !version[0])
		return otherwise;
	return !strcmp(version, "1.3") ? TLS1_3_VERSION : TLS1_2_VERSION;
}

static void context_set_up(const struct tls_server *server, SSL_CTX *context)
{
	SSL_CTX_set_min_proto_version(context,
				      version_number(server->config->min_version, TLS1_2_VERSION));
	SSL_CTX_set_max_proto_version(context,
				      version_number(server->config->max_version, TLS1_3_VERSION));
	// A session that is kept costs memory, and lets a client in that would be refused by now.
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					     SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	// As RFC 9113 wants it of TLS 1.2: no cipher suite without forward secrecy and AEAD.
	SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, (void *)(uintptr_t)server->protocols);
}

/* Make the context anew, of the material in use. */
static struct profcol_error *tls_server_apply(struct tls_server *server)
{
	CLEANUP(context_cleanup) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	const struct tls_material *material = &server->material;
	bool usable = context;

	if (usable) {
		context_set_up(server, context);
		usable = use_chain(context, material->certificate) &&
			 use_key(context, material->key) &&
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

struct profcol_error *tls_server_create(const struct net_tls_server_config *config,
					const char *protocols, const struct profcol_logger *logger,
					struct tls_server **ret)
{
	struct tls_server *server = calloc(1, sizeof(*server));
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "tls");
	server->config = config;
	server->protocols = protocols;
	server->logger = logger;
	server->pair = (struct tls_watch){
		.paths = { config->cert_file, config->key_file, "" },
		.load = tls_server_load_pair,
		.interval_ns = config->reload_interval_ns,
	};
	server->roots = (struct tls_watch){
		.paths = { config->client_ca_file, "", "" },
		.load = tls_server_load_roots,
		.interval_ns = config->client_ca_file_reload ? CLIENT_CA_RELOAD_NS : 0,
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
		profcol_log_warn(server->logger,
				 "cannot use the changed TLS files: %s; going on with the old ones",
				 profcol_error_message(error));
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
