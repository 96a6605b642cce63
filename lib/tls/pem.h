/* SPDX-License-Identifier: Apache-2.0 */
/* How texts in PEM are taken apart. Private to lib/tls. */
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

/* A password callback of OpenSSL's: the terminal is never asked for that of a key. */
int pem_refuse_password(char *buffer, int size, int writing, void *context);

/* For CLEANUP(). */
static inline void bio_cleanup(BIO **bio)
{
	BIO_free(*bio);
}

static inline void x509_cleanup(X509 **certificate)
{
	X509_free(*certificate);
}

static inline void pkey_cleanup(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}
