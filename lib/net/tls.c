// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

struct profcol_error *tls_read_text(const char *key_file, const char *file, const char *pem,
				    char **ret)
{
	int status;

	if (file[0]) {
		status = file_read(AT_FDCWD, file, PEM_MAX_BYTES, ret, NULL);
		if (status)
			return profcol_error_create(PROFCOL_CONFIG,
						    "cannot read '%s': %s; set %s to a file in "
						    "PEM format that profcol may read",
						    file, strerrordesc_np(-status), key_file);
		return NULL;
	}
	*ret = pem[0] ? strdup(pem) : NULL;
	return pem[0] && !*ret ? profcol_error_errno(ENOMEM, "%s", key_file) : NULL;
}

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

/* Never ask the terminal for the password of a key. */
static int password_refuse(char *buffer, int size, int writing, void *context)
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
		certificate = PEM_read_bio_X509(bio, NULL, password_refuse, NULL);
	ERR_clear_error();
	return certificate;
}

struct profcol_error *tls_check_certificates(const char *key, const char *pem)
{
	CLEANUP(x509_cleanup) X509 *certificate = certificate_first(pem);

	if (!certificate)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s holds no certificate in PEM format; it has to "
					    "begin with -----BEGIN CERTIFICATE-----",
					    key);
	return NULL;
}

struct profcol_error *tls_check_pair(const char *certificate_pem, const char *key_pem)
{
	CLEANUP(x509_cleanup) X509 *certificate = certificate_first(certificate_pem);
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(key_pem, -1);
	CLEANUP(pkey_cleanup) EVP_PKEY *key = NULL;
	bool matches;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, password_refuse, NULL);
	matches = certificate && key && X509_check_private_key(certificate, key) == 1;
	ERR_clear_error();
	if (!key)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.key_file or tls.key_pem holds no private key in "
					    "PEM format without a password");
	if (!matches)
		return profcol_error_create(PROFCOL_CONFIG,
					    "the private key (tls.key_file or tls.key_pem) does "
					    "not belong to the certificate (tls.cert_file or "
					    "tls.cert_pem)");
	return NULL;
}

struct profcol_error *tls_refuse_unsupported(const struct tls_choices *choices)
{
	if (choices->min_version[0] && strcmp(choices->min_version, "1.2"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.min_version: gRPC offers TLS 1.2 and 1.3, \"%s\" "
					    "cannot be set; leave the key out",
					    choices->min_version);
	if (choices->max_version[0] && strcmp(choices->max_version, "1.3"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.max_version: gRPC offers TLS 1.2 and 1.3, \"%s\" "
					    "cannot be set; leave the key out",
					    choices->max_version);
	if (choices->cipher_suites || choices->insecure_cipher_suites)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.%s: gRPC chooses cipher suites itself; leave the "
					    "key out",
					    choices->cipher_suites
						    ? "cipher_suites"
						    : "include_insecure_cipher_suites");
	if (choices->curve_preferences)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.curve_preferences: gRPC chooses curves itself; "
					    "leave the key out");
	if (choices->tpm)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.tpm: keys in a TPM are not supported; use "
					    "tls.key_file");
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
	error = tls_check_pair(material->certificate, material->key);
	if (error && pair->key_file[0])
		error = profcol_error_prefix(error, "'%s'", pair->key_file);
	return error;
}

struct tls_stamp tls_stamp_files(const char *const paths[static TLS_STAMP_FILES])
{
	struct tls_stamp stamp = { 0 };
	struct stat status;

	for (size_t i = 0; i < TLS_STAMP_FILES; i++) {
		if (!paths[i][0] || stat(paths[i], &status))
			continue;
		stamp.files[i].device = status.st_dev;
		stamp.files[i].inode = status.st_ino;
		stamp.files[i].bytes = (uint64_t)status.st_size;
		stamp.files[i].modified = status.st_mtim;
		stamp.files[i].changed = status.st_ctim;
	}
	return stamp;
}

bool tls_stamp_equal(const struct tls_stamp *first, const struct tls_stamp *second)
{
	return !memcmp(first, second, sizeof(*first));
}

bool tls_complaint_is_new(struct tls_complaint *complaint, const struct tls_stamp *stamp,
			  const char *text)
{
	const struct tls_complaint now = { .stamp = *stamp,
					   .text = intern_hash(text, strlen(text)),
					   .made = true };
	bool same = complaint->made && complaint->text == now.text &&
		    tls_stamp_equal(&complaint->stamp, stamp);

	*complaint = now;
	return !same;
}
