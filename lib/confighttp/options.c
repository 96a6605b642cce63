// SPDX-License-Identifier: Apache-2.0
#include "confighttp.h"

#define TPM  struct confighttp_tpm_config
#define TLS  struct confighttp_tls_config
#define CORS struct confighttp_cors_config
#define AUTH struct confighttp_auth_config

const char *const confighttp_transport_names[] = { "tcp", NULL };

static const struct profcol_option tpm_options[] = {
	PROFCOL_OPTION_BOOL("enabled", TPM, enabled, "false", "must be false"),
	PROFCOL_OPTION_STRING("path", TPM, path, NULL, "not supported"),
	PROFCOL_OPTION_SECRET("owner_auth", TPM, owner_auth, "not supported"),
	PROFCOL_OPTION_SECRET("auth", TPM, auth, "not supported"),
	PROFCOL_OPTION_END,
};

const struct profcol_option confighttp_tls_options[] = {
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
			    "take changed TLS files up every second, unless reload_interval says "
			    "how often"),
	PROFCOL_OPTION_DURATION("reload_interval", TLS, reload_interval_ns, "0s", 0, 0,
				"how often changed TLS files are looked for; 0 = never"),
	PROFCOL_OPTION_STRING("ca_file", TLS, ca_file, NULL,
			      "no effect on a server: see client_ca_file"),
	PROFCOL_OPTION_STRING("ca_pem", TLS, ca_pem, NULL, "no effect on a server"),
	PROFCOL_OPTION_BOOL("include_system_ca_certs_pool", TLS, include_system_ca_certs_pool,
			    "false", "no effect on a server"),
	PROFCOL_OPTION_STRING("min_version", TLS, min_version, "\"1.2\"", "1.2 or 1.3"),
	PROFCOL_OPTION_STRING("max_version", TLS, max_version, NULL, "1.2, 1.3, or empty = 1.3"),
	PROFCOL_OPTION_LIST("cipher_suites", TLS, cipher_suites, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_LIST("curve_preferences", TLS, curve_preferences, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_BOOL("include_insecure_cipher_suites", TLS, include_insecure_cipher_suites,
			    "false", "not supported: must be false"),
	PROFCOL_OPTION_NESTED("tpm", TLS, tpm, tpm_options, "keys in a TPM: not supported"),
	PROFCOL_OPTION_END,
};

const struct profcol_option confighttp_cors_options[] = {
	PROFCOL_OPTION_LIST("allowed_origins", CORS, allowed_origins, NULL, "no effect"),
	PROFCOL_OPTION_LIST("allowed_headers", CORS, allowed_headers, NULL, "no effect"),
	PROFCOL_OPTION_LIST("exposed_headers", CORS, exposed_headers, NULL, "no effect"),
	PROFCOL_OPTION_INT("max_age", CORS, max_age, "0", 0, INT32_MAX, "no effect"),
	PROFCOL_OPTION_END,
};

const struct profcol_option confighttp_auth_options[] = {
	PROFCOL_OPTION_STRING("authenticator", AUTH, authenticator, NULL,
			      "not supported: must be empty"),
	PROFCOL_OPTION_LIST("request_params", AUTH, request_params, NULL, "no effect"),
	PROFCOL_OPTION_END,
};

#define CORS struct confighttp_cors_config

const struct profcol_option confighttp_cors_server_options[] = {
	PROFCOL_OPTION_LIST("allowed_origins", CORS, allowed_origins, NULL,
			    "https://shop.example, with one * for any text; none = no script may"),
	PROFCOL_OPTION_LIST("allowed_headers", CORS, allowed_headers, NULL,
			    "what scripts may send; * = anything; none named = Accept, "
			    "Content-Type and X-Requested-With"),
	PROFCOL_OPTION_LIST("exposed_headers", CORS, exposed_headers, NULL,
			    "headers of answers that scripts may read"),
	PROFCOL_OPTION_INT("max_age", CORS, max_age, "0", 0, INT32_MAX,
			   "seconds for which a browser need not ask again; 0 = its own choice"),
	PROFCOL_OPTION_END,
};

#undef CORS
