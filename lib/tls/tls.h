/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/tls: certificates and keys in PEM, files of them that change, contexts of clients, and the
 * server's side of TLS 1.2 and 1.3 by OpenSSL, for every server and client of ours. The one header
 * that other folders include.
 *
 * Keys of the configuration are named in errors, which are CONFIG and begin with one:
 * "tls.cert_file: ...". Texts of settings are never NULL unless that is said; "" = not given.
 */
#pragma once

#include <profcol/errors.h>
#include <profcol/logging.h>

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- texts in PEM (tls.c) ---- */

/* Certificates and key, all owned; NULL = none. */
struct tls_material {
	char *roots;
	char *certificate, *key;
};

void tls_material_deinit(struct tls_material *material);

/*
 * The text that configuration key @key (for errors) stands for: the one of @file, or @pem. NULL in
 * *@ret when both are empty. Caller frees.
 */
PROFCOL_MUST_CHECK struct profcol_error *tls_read_text(const char *key, const char *file,
						       const char *pem, char **ret);

/* An error unless @pem holds certificates; @label is what tls_print_label() says of it. */
PROFCOL_MUST_CHECK struct profcol_error *tls_check_certificates(const char *label, const char *pem);

/* Name of a PEM text for errors: tls.@key_file and the file if it is one, else tls.@key_pem. */
void tls_print_label(char *to, size_t size, const char *key, const char *file);

/* A certificate and its key, each as file or as text. */
struct tls_pair_config {
	const char *cert_file, *cert_pem;
	const char *key_file, *key_pem;
};

/* An error when one is given twice, or only one of them. */
PROFCOL_MUST_CHECK struct profcol_error *tls_validate_pair(const struct tls_pair_config *pair);

/* The same of a server, which has to have both. */
PROFCOL_MUST_CHECK struct profcol_error *
tls_validate_server_pair(const struct tls_pair_config *pair);

/*
 * Read and check both, if there are any: the key has no password, and is that of the first
 * certificate. On error too, @material is to be deinited.
 */
PROFCOL_MUST_CHECK struct profcol_error *tls_load_pair(const struct tls_pair_config *pair,
						       struct tls_material *material);

/* ---- contexts of OpenSSL, of servers and clients (context.c) ---- */

/* Trust all certificates of @pem, and name them to clients that are asked for theirs; returns how
 * many there are. Leaves OpenSSL's queue of errors empty. The thread that owns @context. */
size_t tls_context_trust(SSL_CTX *context, const char *pem);

/* Show the first of @certificates, the others being its chain, and prove it by @key, which has no
 * password: nobody is asked for one. False when they cannot be used, or are not a pair. */
bool tls_context_identify(SSL_CTX *context, const char *certificates, const char *key);

/* ---- files that change (stamp.c) ---- */

enum { TLS_STAMP_FILES = 3 };

/* Identity of files as they are now; to be compared. */
struct tls_stamp {
	struct {
		uint64_t device, inode, bytes;
		struct timespec modified;
		struct timespec changed; /* also by chmod and chown: readable at last */
	} files[TLS_STAMP_FILES];
};

/* "" = no file. */
struct tls_stamp tls_stamp_files(const char *const paths[static TLS_STAMP_FILES]);
bool tls_stamp_equal(const struct tls_stamp *first, const struct tls_stamp *second);

/* The last complaint in the log about files that cannot be used. Zeroed = there was none. */
struct tls_complaint {
	struct tls_stamp stamp;
	uint32_t text; /* its hash */
	bool made;
};

/* Is it to be logged that the files of @stamp are unusable for the reason @text? Remembers it. */
bool tls_complaint_is_new(struct tls_complaint *complaint, const struct tls_stamp *stamp,
			  const char *text);

/* ---- a server (server.c) ---- */

struct tls_server_settings {
	struct tls_pair_config pair;
	const char *client_ca_file;            /* clients have to show a certificate of these */
	const char *min_version, *max_version; /* "1.2", "1.3"; "" = 1.2, 1.3 */
	uint64_t reload_interval_ns;           /* of certificate and key; 0 = never */
	uint64_t client_ca_reload_interval_ns; /* of client_ca_file; 0 = never */
	/* Protocols for ALPN in OpenSSL's form ("\x02h2"), the best first; a client that offers
	 * others only is refused. NULL = the server leaves ALPN out. */
	const char *protocols;
	const struct profcol_logger *logger; /* NULL = nothing is logged */
};

/* Read and check all files, and forget them. */
PROFCOL_MUST_CHECK struct profcol_error *
tls_server_probe(const struct tls_server_settings *settings);

/* Where a server's sessions come from: of TLS 1.2 they have only the cipher suites with forward
 * secrecy and AEAD, which RFC 9113 leaves. One thread. */
struct tls_server;

/* Read and check all files. The texts and the logger of @settings are borrowed until destroy. */
PROFCOL_MUST_CHECK struct profcol_error *
tls_server_create(const struct tls_server_settings *settings, struct tls_server **ret);

/*
 * A session for a new connection, the caller's; NULL without memory. Changed files are taken up
 * first, if their interval has passed: certificate and key together, and the authorities, neither
 * waiting for the other. While they are unusable, which is logged once, what there was is kept, and
 * they are tried again at each interval.
 */
SSL *tls_server_accept(struct tls_server *server);

/* Sessions go on. Accepts NULL. */
void tls_server_destroy(struct tls_server *server);
