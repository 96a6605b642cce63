/* SPDX-License-Identifier: Apache-2.0 */
/* TLS settings of gRPC and of OTLP over HTTP: their checks, gRPC's credentials, and their form for
 * lib/tls. Private to lib/net. */
#pragma once

#include "net.h"

#include "tls/tls.h"

#include <grpc/grpc_security.h>

/* ---- of both sides (tls_choices.c) ---- */

/* Relative to struct net_tls_tpm_config. */
extern const struct profcol_option tls_tpm_options[];

/* What gRPC decides itself, and who asks for it otherwise. */
struct tls_choices {
	const char *min_version, *max_version;
	bool cipher_suites, curve_preferences, insecure_cipher_suites, tpm; /* something is asked */
};

/* CONFIG when it is asked for what gRPC does not offer. */
PROFCOL_MUST_CHECK struct profcol_error *tls_refuse_unsupported(const struct tls_choices *choices);

/* ---- of a client (tls_client.c) ---- */

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

/* ---- of a server (tls_server_options.c) ---- */

PROFCOL_MUST_CHECK struct profcol_error *
tls_server_validate(const struct net_tls_server_config *config);

/* Texts are @config's; protocols and logger are the caller's to set. */
struct tls_server_settings tls_server_translate(const struct net_tls_server_config *config);
