// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include <string.h>

const struct profcol_option tls_tpm_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct net_tls_tpm_config, enabled, "false",
			    "not supported: must be false"),
	PROFCOL_OPTION_STRING("path", struct net_tls_tpm_config, path, NULL, "not acted on"),
	PROFCOL_OPTION_SECRET("owner_auth", struct net_tls_tpm_config, owner_auth, "not acted on"),
	PROFCOL_OPTION_SECRET("auth", struct net_tls_tpm_config, auth, "not acted on"),
	PROFCOL_OPTION_END,
};

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
