/* SPDX-License-Identifier: Apache-2.0 */
/* What TLS settings stand for: texts in PEM, gRPC's credentials, OpenSSL's sessions. Private to
 * lib/net. */
#pragma once

#include "net.h"

#include <grpc/grpc_security.h>
#include <openssl/types.h>

#include <time.h>

/* Certificates and key as PEM text, all owned; NULL = none. */
struct tls_material {
	char *roots;
	char *certificate, *key;
};

void tls_material_deinit(struct tls_material *material);

/*
 * The text that configuration key @key_file or @key_pem (names for errors) stands for: the
 * file's, or the value's. NULL in *@ret when both are empty. Caller frees.
 */
PROFCOL_MUST_CHECK struct profcol_error *tls_read_text(const char *key_file, const char *file,
						       const char *pem, char **ret);

/* CONFIG unless @pem, of configuration key @key, holds certificates. */
PROFCOL_MUST_CHECK struct profcol_error *tls_check_certificates(const char *key, const char *pem);

/* CONFIG unless @key_pem is an unencrypted private key, that of the first of @certificate. */
PROFCOL_MUST_CHECK struct profcol_error *tls_check_pair(const char *certificate,
							const char *key_pem);

/* ---- of both sides ---- */

/* Relative to struct net_tls_tpm_config. */
extern const struct profcol_option tls_tpm_options[];

/* What gRPC decides itself, and who asks for it otherwise. */
struct tls_choices {
	const char *min_version, *max_version;
	bool cipher_suites, curve_preferences, insecure_cipher_suites, tpm; /* something is asked */
};

/* CONFIG when it is asked for what gRPC does not offer. */
PROFCOL_MUST_CHECK struct profcol_error *tls_refuse_unsupported(const struct tls_choices *choices);

/* A certificate and its key, each as file or as text; "" = none. */
struct tls_pair_config {
	const char *cert_file, *cert_pem;
	const char *key_file, *key_pem;
};

/* CONFIG when one is given twice, or only one of them. */
PROFCOL_MUST_CHECK struct profcol_error *tls_validate_pair(const struct tls_pair_config *pair);

/* Read and check both, if there are any. On error too, @material is to be deinited. */
PROFCOL_MUST_CHECK struct profcol_error *tls_load_pair(const struct tls_pair_config *pair,
						       struct tls_material *material);

/* Name of a PEM text for errors: tls.@key_file and the file if it is one, else tls.@key_pem. */
void tls_print_label(char *to, size_t size, const char *key, const char *file);

enum { TLS_STAMP_FILES = 3 };

/* Identity of the configured files as they are now; to be compared. */
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

/* What was logged last of files that cannot be used, which are tried again. Zeroed = nothing. */
struct tls_complaint {
	struct tls_stamp stamp;
	uint32_t text; /* its hash */
	bool made;
};

/* Is it to be logged that the files of @stamp are unusable for the reason @text? Remembers it. */
bool tls_complaint_is_new(struct tls_complaint *complaint, const struct tls_stamp *stamp,
			  const char *text);

/* ---- of a client ---- */

PROFCOL_MUST_CHECK struct profcol_error *
tls_client_validate(const struct net_tls_client_config *config);

/* Is TLS to be used? @forced by the endpoint's https://. */
bool tls_client_is_on(const struct net_tls_client_config *config, bool forced);

/* Read and check all files. The caller's on success. */
PROFCOL_MUST_CHECK struct profcol_error *tls_client_load(const struct net_tls_client_config *config,
							 struct tls_material *material);

struct tls_stamp tls_client_stamp(const struct net_tls_client_config *config);

/* Credentials of a channel; @material may go afterwards. Never NULL. */
grpc_channel_credentials *tls_client_credentials(const struct net_tls_client_config *config,
						 const struct tls_material *material);

/* ---- of a server (tls_server.c) ---- */

PROFCOL_MUST_CHECK struct profcol_error *
tls_server_validate(const struct net_tls_server_config *config);

/* Read and check all files. */
PROFCOL_MUST_CHECK struct profcol_error *
tls_server_probe(const struct net_tls_server_config *config);

/* Where a server's credentials come from while it runs. */
struct tls_server;

/*
 * Read and check all files. @protocols are those that may be chosen by ALPN, as OpenSSL has them:
 * "\x02h2", the best first; a client that offers others only is refused. All but @ret are borrowed
 * until destroy. One thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *
tls_server_create(const struct net_tls_server_config *config, const char *protocols,
		  const struct profcol_logger *logger, struct tls_server **ret);

/*
 * A session for a new connection, the caller's; NULL without memory. Changed files are taken up
 * first: certificate and key every reload_interval, authorities every second with
 * client_ca_file_reload, neither waiting for the other. While they are unusable, which is logged
 * once, what there was is kept, and they are tried again at each interval.
 */
SSL *tls_server_accept(struct tls_server *server);

/* Sessions go on. Accepts NULL. */
void tls_server_destroy(struct tls_server *server);
