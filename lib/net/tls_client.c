// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TLS struct net_tls_client_config

const struct profcol_option net_tls_client_options[] = {
	PROFCOL_OPTION_BOOL("insecure", TLS, insecure, "false",
			    "no TLS (but with a CA, or https:// in endpoint, it stays on)"),
	PROFCOL_OPTION_BOOL("insecure_skip_verify", TLS, insecure_skip_verify, "false",
			    "take any certificate from the peer: encrypted, but to whom?"),
	PROFCOL_OPTION_READ_FILE("ca_file", TLS, ca_file,
				 "PEM file of the authorities to trust, instead of the system's"),
	PROFCOL_OPTION_STRING("ca_pem", TLS, ca_pem, NULL, "the same as text"),
	PROFCOL_OPTION_READ_FILE("cert_file", TLS, cert_file,
				 "PEM file of our certificate and its chain, for mTLS"),
	PROFCOL_OPTION_STRING("cert_pem", TLS, cert_pem, NULL, "the same as text"),
	PROFCOL_OPTION_READ_FILE("key_file", TLS, key_file,
				 "PEM file of the key of that certificate, without a password"),
	PROFCOL_OPTION_SECRET("key_pem", TLS, key_pem, "the same as text"),
	PROFCOL_OPTION_BOOL("include_system_ca_certs_pool", TLS, include_system_ca_certs_pool,
			    "false", "trust the system's authorities besides those of ca_file"),
	PROFCOL_OPTION_STRING("server_name_override", TLS, server_name_override, NULL,
			      "name that the peer's certificate has to have, instead of the "
			      "endpoint's; also the :authority"),
	PROFCOL_OPTION_STRING("min_version", TLS, min_version, "\"1.2\"",
			      "1.2 and 1.3 are offered: must be 1.2"),
	PROFCOL_OPTION_STRING("max_version", TLS, max_version, NULL, "must be 1.3 or empty"),
	PROFCOL_OPTION_LIST("cipher_suites", TLS, cipher_suites, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_LIST("curve_preferences", TLS, curve_preferences, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_BOOL("include_insecure_cipher_suites", TLS, include_insecure_cipher_suites,
			    "false", "not supported: must be false"),
	PROFCOL_OPTION_DURATION("reload_interval", TLS, reload_interval_ns, "0s", 0, 0,
				"how often changed files are looked for; 0 = never"),
	PROFCOL_OPTION_NESTED("tpm", TLS, tpm, tls_tpm_options, "keys in a TPM: not supported"),
	PROFCOL_OPTION_END,
};

#undef TLS

static struct tls_pair_config tls_client_pair(const struct net_tls_client_config *config)
{
	return (struct tls_pair_config){ config->cert_file, config->cert_pem, config->key_file,
					 config->key_pem };
}

struct profcol_error *tls_client_validate(const struct net_tls_client_config *config)
{
	const struct tls_pair_config pair = tls_client_pair(config);
	const struct tls_choices choices = {
		.min_version = config->min_version,
		.max_version = config->max_version,
		.cipher_suites = config->cipher_suites.count,
		.curve_preferences = config->curve_preferences.count,
		.insecure_cipher_suites = config->include_insecure_cipher_suites,
		.tpm = config->tpm.enabled,
	};
	struct profcol_error *error = NULL;

	if (config->ca_file[0] && config->ca_pem[0])
		error = profcol_error_create(PROFCOL_CONFIG,
					     "tls.ca_file: provide either a CA file or the "
					     "PEM-encoded string, but not both");
	if (!error)
		error = tls_validate_pair(&pair);
	return error ? error : tls_refuse_unsupported(&choices);
}

bool tls_client_is_on(const struct net_tls_client_config *config, bool forced)
{
	return forced || !config->insecure || config->ca_file[0] || config->ca_pem[0];
}

/* The system's authorities: where distributions keep them, in the order that Go looks. */
static struct profcol_error *tls_read_system_roots(char **ret)
{
	static const char *const paths[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};
	const char *chosen = getenv("SSL_CERT_FILE");

	if (chosen && chosen[0])
		return tls_read_text("the variable SSL_CERT_FILE", chosen, "", ret);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], R_OK))
			return tls_read_text("tls.ca_file", paths[i], "", ret);
	return profcol_error_create(PROFCOL_CONFIG,
				    "this system has no list of certificate authorities; install "
				    "ca-certificates, or set tls.ca_file (or tls.insecure: true "
				    "for a peer without TLS)");
}

static struct profcol_error *tls_load_roots(const struct net_tls_client_config *config,
					    struct tls_material *material)
{
	CLEANUP_FREE char *own = NULL, *system = NULL;
	struct profcol_error *error;
	char label[384];

	tls_print_label(label, sizeof(label), "ca", config->ca_file);
	error = tls_read_text("tls.ca_file", config->ca_file, config->ca_pem, &own);
	if (!error && own)
		error = tls_check_certificates(label, own);
	// No roots are needed where every certificate is taken.
	if (!error && !own && config->insecure_skip_verify)
		return NULL;
	if (!error && (!own || config->include_system_ca_certs_pool))
		error = tls_read_system_roots(&system);
	if (error)
		return error;
	if (asprintf(&material->roots, "%s\n%s", own ? own : "", system ? system : "") < 0) {
		material->roots = NULL;
		return profcol_error_errno(ENOMEM, "tls");
	}
	return NULL;
}

struct profcol_error *tls_client_load(const struct net_tls_client_config *config,
				      struct tls_material *material)
{
	const struct tls_pair_config pair = tls_client_pair(config);
	struct profcol_error *error;

	*material = (struct tls_material){ 0 };
	error = tls_load_roots(config, material);
	if (!error)
		error = tls_load_pair(&pair, material);
	if (error)
		tls_material_deinit(material);
	return error;
}

struct tls_stamp tls_client_stamp(const struct net_tls_client_config *config)
{
	const char *const paths[] = { config->ca_file, config->cert_file, config->key_file };

	return tls_stamp_files(paths);
}

/* An encrypted channel to whoever answers, as the configuration has asked for. */
static void tls_skip_verification(grpc_tls_credentials_options *options)
{
	grpc_tls_certificate_verifier *verifier = grpc_tls_certificate_verifier_no_op_create();

	grpc_tls_credentials_options_set_certificate_verifier(options, verifier);
	grpc_tls_certificate_verifier_release(verifier);
	grpc_tls_credentials_options_set_verify_server_cert(options, 0);
}

grpc_channel_credentials *tls_client_credentials(const struct net_tls_client_config *config,
						 const struct tls_material *material)
{
	grpc_tls_credentials_options *options = grpc_tls_credentials_options_create();
	grpc_tls_identity_pairs *pairs = NULL;
	grpc_tls_certificate_provider *provider;

	if (material->certificate) {
		pairs = grpc_tls_identity_pairs_create();
		grpc_tls_identity_pairs_add_pair(pairs, material->key, material->certificate);
		grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
	}
	if (material->roots)
		grpc_tls_credentials_options_watch_root_certs(options);
	if (material->roots || pairs) {
		provider = grpc_tls_certificate_provider_static_data_create(material->roots, pairs);
		grpc_tls_credentials_options_set_certificate_provider(options, provider);
		grpc_tls_certificate_provider_release(provider);
	}
	if (config->insecure_skip_verify)
		tls_skip_verification(options);
	// The certificate is checked in the handshake; `authority` may name something else.
	grpc_tls_credentials_options_set_check_call_host(options, 0);
	return grpc_tls_credentials_create(options);
}
