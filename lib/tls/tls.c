// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "pem.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A bundle of all the world's authorities has 220 KB. */
enum { PEM_MAX_BYTES = 4 << 20 };

void tls_material_deinit(struct tls_material *material)
{
	free(material->roots);
	free(material->certificate);
	if (material->key)
		explicit_bzero(material->key, strlen(material->key));
	free(material->key);
	*material = (struct tls_material){ 0 };
}

struct profcol_error *tls_read_text(const char *key, const char *file, const char *pem, char **ret)
{
	int status;

	if (file[0]) {
		status = file_read(AT_FDCWD, file, PEM_MAX_BYTES, ret, NULL);
		if (status)
			return profcol_error_create(PROFCOL_CONFIG,
						    "%s: cannot read '%s': %s; set %s to a file in "
						    "PEM format that profcol may read",
						    key, file, strerrordesc_np(-status), key);
		return NULL;
	}
	*ret = pem[0] ? strdup(pem) : NULL;
	return pem[0] && !*ret ? profcol_error_errno(ENOMEM, "%s", key) : NULL;
}

int pem_refuse_password(char *buffer, int size, int writing, void *context)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

static X509 *certificate_first(const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate = NULL;

	if (bio)
		certificate = PEM_read_bio_X509(bio, NULL, pem_refuse_password, NULL);
	ERR_clear_error();
	return certificate;
}

struct profcol_error *tls_check_certificates(const char *label, const char *pem)
{
	CLEANUP(x509_cleanup) X509 *certificate = certificate_first(pem);

	if (!certificate)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s holds no certificate in PEM format; it has to "
					    "begin with -----BEGIN CERTIFICATE-----",
					    label);
	return NULL;
}

/* An error unless the key is a private key without a password, that of the first certificate. */
static struct profcol_error *check_key(const char *label, const struct tls_material *material)
{
	CLEANUP(x509_cleanup) X509 *certificate = certificate_first(material->certificate);
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(material->key, -1);
	CLEANUP(pkey_cleanup) EVP_PKEY *key = NULL;
	bool matches;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, pem_refuse_password, NULL);
	matches = certificate && key && X509_check_private_key(certificate, key) == 1;
	ERR_clear_error();
	if (!key)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s holds no private key in PEM format without a "
					    "password; set tls.key_file or tls.key_pem to one",
					    label);
	if (!matches)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s does not belong to the certificate (tls.cert_file "
					    "or tls.cert_pem); set both to what was issued "
					    "together",
					    label);
	return NULL;
}

struct profcol_error *tls_validate_pair(const struct tls_pair_config *pair)
{
	bool certificate = pair->cert_file[0] || pair->cert_pem[0];
	bool key = pair->key_file[0] || pair->key_pem[0];

	if (pair->cert_file[0] && pair->cert_pem[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.cert_file: provide either a certificate or the "
					    "PEM-encoded string, but not both");
	if (pair->key_file[0] && pair->key_pem[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.key_file: provide either a key or the PEM-encoded "
					    "string, but not both");
	if (certificate != key)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.%s: for auth via TLS, provide both certificate "
					    "and key, or neither",
					    certificate ? "key_file" : "cert_file");
	return NULL;
}

struct profcol_error *tls_validate_server_pair(const struct tls_pair_config *pair)
{
	struct profcol_error *error = tls_validate_pair(pair);

	if (!error && !pair->cert_file[0] && !pair->cert_pem[0])
		error = profcol_error_create(PROFCOL_CONFIG,
					     "tls.cert_file: a server needs a certificate and its "
					     "key; set cert_file and key_file, or leave tls out");
	return error;
}

void tls_print_label(char *to, size_t size, const char *key, const char *file)
{
	if (file[0])
		snprintf(to, size, "tls.%s_file: '%.300s'", key, file);
	else
		snprintf(to, size, "tls.%s_pem", key);
}

struct profcol_error *tls_load_pair(const struct tls_pair_config *pair,
				    struct tls_material *material)
{
	struct profcol_error *error;
	char label[384];

	tls_print_label(label, sizeof(label), "cert", pair->cert_file);
	error = tls_read_text("tls.cert_file", pair->cert_file, pair->cert_pem,
			      &material->certificate);
	if (error || !material->certificate)
		return error;
	error = tls_check_certificates(label, material->certificate);
	if (!error)
		error = tls_read_text("tls.key_file", pair->key_file, pair->key_pem,
				      &material->key);
	if (error)
		return error;
	tls_print_label(label, sizeof(label), "key", pair->key_file);
	return check_key(label, material);
}
