// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

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

static struct tls_pair_config tls_server_pair(const struct net_tls_server_config *config)
{
	return (struct tls_pair_config){ config->cert_file, config->cert_pem, config->key_file,
					 config->key_pem };
}

struct profcol_error *tls_server_validate(const struct net_tls_server_config *config)
{
	const struct tls_pair_config pair = tls_server_pair(config);
	const struct tls_choices choices = {
		.min_version = config->min_version,
		.max_version = config->max_version,
		.cipher_suites = config->cipher_suites.count,
		.curve_preferences = config->curve_preferences.count,
		.insecure_cipher_suites = config->include_insecure_cipher_suites,
		.tpm = config->tpm.enabled,
	};
	struct profcol_error *error = tls_validate_server_pair(&pair);

	return error ? error : tls_refuse_unsupported(&choices);
}

struct tls_server_settings tls_server_translate(const struct net_tls_server_config *config)
{
	return (struct tls_server_settings){
		.pair = tls_server_pair(config),
		.client_ca_file = config->client_ca_file,
		.min_version = config->min_version,
		.max_version = config->max_version,
		.reload_interval_ns = config->reload_interval_ns,
		.client_ca_reload_interval_ns =
			config->client_ca_file_reload ? CLIENT_CA_RELOAD_NS : 0,
	};
}
