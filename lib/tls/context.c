// SPDX-License-Identifier: Apache-2.0
#include "pem.h"
#include "tls.h"

#include "base/base.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

static X509 *next_certificate(BIO *bio)
{
	return bio ? PEM_read_bio_X509(bio, NULL, pem_refuse_password, NULL) : NULL;
}

size_t tls_context_trust(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	size_t count = 0;

	for (X509 *certificate; (certificate = next_certificate(bio)); count++) {
		// One that is there twice is no fault.
		X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
		SSL_CTX_add_client_CA(context, certificate);
		X509_free(certificate);
	}
	ERR_clear_error();
	return count;
}

static bool use_chain(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	bool first = true, usable = true;

	for (X509 *certificate; usable && (certificate = next_certificate(bio)); first = false) {
		usable = first ? SSL_CTX_use_certificate(context, certificate) == 1
			       : SSL_CTX_add1_chain_cert(context, certificate) == 1;
		X509_free(certificate);
	}
	return usable && !first;
}

static bool use_key(SSL_CTX *context, const char *pem)
{
	CLEANUP(bio_cleanup) BIO *bio = BIO_new_mem_buf(pem, -1);
	CLEANUP(pkey_cleanup) EVP_PKEY *key = NULL;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, pem_refuse_password, NULL);
	return key && SSL_CTX_use_PrivateKey(context, key) == 1 &&
	       SSL_CTX_check_private_key(context) == 1;
}

bool tls_context_identify(SSL_CTX *context, const char *certificates, const char *key)
{
	bool usable = use_chain(context, certificates) && use_key(context, key);

	ERR_clear_error();
	return usable;
}
