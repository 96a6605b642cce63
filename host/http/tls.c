// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <profcol/logging.h>

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	/* A bundle of all the world's authorities has 220 KB. */
	PEM_MAX_BYTES = 4 << 20,
	TLS_FILES = 3,
};

/* Identity of the files as they were read; all bytes are set, so that they can be compared. */
struct stamp {
	struct {
		uint64_t device, inode, bytes;
		int64_t changed_s, changed_ns;
	} files[TLS_FILES];
};

struct http_tls {
	const struct profcol_http_settings *settings; /* borrowed */
	SSL_CTX *context;                             /* owned */
	struct stamp stamp, complained;               /* of what is in use; of what is not */
	uint64_t after_ns;                            /* CLOCK_MONOTONIC: when to look again */
};

static void bio_cleanup(BIO **bio)
{
	BIO_free(*bio);
}

static void context_cleanup(SSL_CTX **context)
{
	SSL_CTX_free(*context);
}

static void x509_cleanup(X509 **certificate)
{
	X509_free(*certificate);
}

static void pkey_cleanup(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

/* May hold a key. */
static void secret_cleanup(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
}

/* Never ask the terminal for the password of a key. */
static int refuse_password(char *buffer, int size, int writing, void *context)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

static bool is_given(const char *text)
{
	return text && text[0];
}

/* The text that a key and its twin with `_pem` stand for. */
static struct profcol_error *read_pem(const char *key, const char *file, const char *pem,
				      char **ret)
{
	int status;

	if (!is_given(file)) {
		*ret = strdup(pem ? pem : "");
		return *ret ? NULL : profcol_error_errno(ENOMEM, "tls");
	}
	status = file_read(AT_FDCWD, file, PEM_MAX_BYTES, ret, NULL);
	if (!status)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "tls.%s: cannot read '%s': %s; name a file in PEM format that "
				    "profcol may read",
				    key, file, strerrordesc_np(-status));
}

static struct profcol_error *use_chain(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate = NULL;
	bool first = true, usable = true;

	while (usable && bio &&
	       (certificate = PEM_read_bio_X509(bio, NULL, refuse_password, NULL))) {
		CLEANUP(x509_cleanup) X509 *owned = certificate;

		usable = first ? SSL_CTX_use_certificate(context, owned) == 1
			       : SSL_CTX_add1_chain_cert(context, owned) == 1;
		first = false;
	}
	ERR_clear_error();
	if (!first && usable)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "tls.cert_file: holds no usable certificate in PEM format; it "
				    "has to begin with -----BEGIN CERTIFICATE-----");
}

static struct profcol_error *use_key(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	CLEANUP(pkey_cleanup) EVP_PKEY *key = NULL;
	bool matches;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL);
	matches = key && SSL_CTX_use_PrivateKey(context, key) == 1 &&
		  SSL_CTX_check_private_key(context) == 1;
	ERR_clear_error();
	if (!key)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.key_file: holds no private key in PEM format "
					    "without a password");
	if (!matches)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.key_file: the private key does not belong to the "
					    "certificate (tls.cert_file or tls.cert_pem)");
	return NULL;
}

/* Demand a certificate of one of these authorities from each client. */
static struct profcol_error *use_authorities(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate = NULL;
	size_t count = 0;

	while (bio && (certificate = PEM_read_bio_X509(bio, NULL, refuse_password, NULL))) {
		CLEANUP(x509_cleanup) X509 *owned = certificate;

		// One that is there twice is no fault.
		X509_STORE_add_cert(SSL_CTX_get_cert_store(context), owned);
		SSL_CTX_add_client_CA(context, owned);
		count++;
	}
	ERR_clear_error();
	if (!count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.client_ca_file: holds no certificate in PEM "
					    "format; it has to begin with -----BEGIN "
					    "CERTIFICATE-----");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return NULL;
}

static struct profcol_error *use_materials(SSL_CTX *context,
					   const struct profcol_http_settings *settings)
{
	CLEANUP(secret_cleanup) char *certificate = NULL, *key = NULL, *authorities = NULL;
	struct profcol_error *error;

	error = read_pem("cert_file", settings->cert_file, settings->cert_pem, &certificate);
	if (!error)
		error = use_chain(context, certificate);
	if (!error)
		error = read_pem("key_file", settings->key_file, settings->key_pem, &key);
	if (!error)
		error = use_key(context, key);
	if (error || !is_given(settings->client_ca_file))
		return error;
	error = read_pem("client_ca_file", settings->client_ca_file, NULL, &authorities);
	return error ? error : use_authorities(context, authorities);
}

static int version_number(const char *version, int otherwise)
{
	if (!is_given(version))
		return otherwise;
	return !strcmp(version, "1.3") ? TLS1_3_VERSION : TLS1_2_VERSION;
}

static struct profcol_error *create_context(const struct profcol_http_settings *settings,
					    SSL_CTX **ret)
{
	CLEANUP(context_cleanup) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	struct profcol_error *error;

	if (!context)
		return profcol_error_errno(ENOMEM, "tls");
	SSL_CTX_set_min_proto_version(context,
				      version_number(settings->min_version, TLS1_2_VERSION));
	SSL_CTX_set_max_proto_version(context,
				      version_number(settings->max_version, TLS1_3_VERSION));
	// A session costs memory and keeps a client in that would be refused by now; a probe comes
	// once in many seconds.
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					     SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	error = use_materials(context, settings);
	if (!error)
		*ret = TAKE(context);
	return error;
}

/* ---- changed files ---- */

static struct stamp stamp_files(const struct profcol_http_settings *settings)
{
	const char *paths[TLS_FILES] = { settings->cert_file, settings->key_file,
					 settings->client_ca_file };
	struct stamp stamp = { 0 };
	struct stat status;

	for (size_t i = 0; i < TLS_FILES; i++) {
		if (!is_given(paths[i]) || stat(paths[i], &status))
			continue;
		stamp.files[i].device = status.st_dev;
		stamp.files[i].inode = status.st_ino;
		stamp.files[i].bytes = (uint64_t)status.st_size;
		// Also chmod and rename change it, and nobody can set it back.
		stamp.files[i].changed_s = status.st_ctim.tv_sec;
		stamp.files[i].changed_ns = status.st_ctim.tv_nsec;
	}
	return stamp;
}

static bool is_same(const struct stamp *first, const struct stamp *second)
{
	return !memcmp(first, second, sizeof(*first));
}

static void refresh(struct http_tls *tls)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	const struct profcol_logger *logger = tls->settings->logger;
	SSL_CTX *fresh = NULL;
	struct stamp stamp;

	tls->after_ns = clock_monotonic_ns() + tls->settings->reload_interval_ns;
	stamp = stamp_files(tls->settings);
	if (is_same(&stamp, &tls->stamp))
		return;
	error = create_context(tls->settings, &fresh);
	if (!error) {
		SSL_CTX_free(tls->context);
		tls->context = fresh;
		tls->stamp = stamp;
		if (logger)
			profcol_log_info(logger, "the TLS files have changed and are in use");
	} else if (!is_same(&stamp, &tls->complained)) {
		tls->complained = stamp;
		if (logger)
			profcol_log_warn(logger,
					 "cannot use the changed TLS files: %s; going on with the "
					 "old ones",
					 profcol_error_message(error));
	}
}

/* ---- life ---- */

struct profcol_error *http_tls_create(const struct profcol_http_settings *settings,
				      struct http_tls **ret)
{
	struct http_tls *tls;
	struct profcol_error *error;

	*ret = NULL;
	if (!is_given(settings->cert_file) && !is_given(settings->cert_pem))
		return NULL;
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return profcol_error_errno(ENOMEM, "tls");
	tls->settings = settings;
	// Stamped first: a change while we read is seen the next time.
	tls->stamp = stamp_files(settings);
	tls->after_ns = clock_monotonic_ns() + settings->reload_interval_ns;
	error = create_context(settings, &tls->context);
	if (error) {
		free(tls);
		return error;
	}
	*ret = tls;
	return NULL;
}

void http_tls_destroy(struct http_tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}

SSL *http_tls_accept(struct http_tls *tls)
{
	if (tls->settings->reload_interval_ns && clock_monotonic_ns() >= tls->after_ns)
		refresh(tls);
	return SSL_new(tls->context);
}
