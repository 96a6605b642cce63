// SPDX-License-Identifier: Apache-2.0
#include "confighttp.h"

#include "base/base.h"
#include "http_head/http_head.h"
#include "tls/tls.h"

#include <string.h>

/* With client_ca_file_reload alone, as the gRPC servers of lib/net do it. */
enum { CLIENT_CA_RELOAD_NS = 1000000000 };

/* ---- what cannot be ---- */

static bool is_version(const char *version)
{
	return !version[0] || !strcmp(version, "1.2") || !strcmp(version, "1.3");
}

static struct profcol_error *validate_versions(const struct confighttp_tls_config *tls)
{
	bool min_known = is_version(tls->min_version);

	if (!min_known || !is_version(tls->max_version))
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.%s: profcol offers TLS 1.2 and 1.3, not "
					    "\"%.30s\"; write \"1.2\" or \"1.3\", or leave the key "
					    "out",
					    min_known ? "max_version" : "min_version",
					    min_known ? tls->max_version : tls->min_version);
	if (!strcmp(tls->min_version, "1.3") && !strcmp(tls->max_version, "1.2"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.min_version: must not be above max_version; leave "
					    "one of them out");
	return NULL;
}

static struct profcol_error *refuse_unsupported(const struct confighttp_tls_config *tls)
{
	if (tls->cipher_suites.count || tls->include_insecure_cipher_suites)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.%s: profcol chooses cipher suites itself; leave "
					    "the key out",
					    tls->cipher_suites.count
						    ? "cipher_suites"
						    : "include_insecure_cipher_suites");
	if (tls->curve_preferences.count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.curve_preferences: profcol chooses curves itself; "
					    "leave the key out");
	if (tls->tpm.enabled)
		return profcol_error_create(PROFCOL_CONFIG,
					    "tls.tpm: keys in a TPM are not supported; use "
					    "tls.key_file");
	return NULL;
}

static struct profcol_error *validate_tls(const struct confighttp_tls_config *tls)
{
	const struct tls_pair_config pair = { tls->cert_file, tls->cert_pem, tls->key_file,
					      tls->key_pem };
	struct profcol_error *error = tls_validate_server_pair(&pair);

	error = profcol_error_join(error, validate_versions(tls));
	return profcol_error_join(error, refuse_unsupported(tls));
}

static bool is_header_name(const char *name)
{
	return http_text_is_token((struct http_text){ name, strlen(name) });
}

static bool is_printable(const char *text)
{
	for (const char *c = text; *c; c++)
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
			return false;
	return true;
}

/* The server has them in each reply, or says by them where it ends. */
static bool is_own(const char *name)
{
	static const char *const own[] = { "cache-control", "connection", "content-length",
					   "content-type",  "date",       "transfer-encoding" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcasecmp(name, own[i]))
			return true;
	return false;
}

static struct profcol_error *validate_headers(const struct profcol_map *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (!is_header_name(headers->keys[i]) || is_own(headers->keys[i]))
			return profcol_error_create(PROFCOL_CONFIG,
						    "response_headers: \"%.100s\" cannot be added "
						    "to a reply; leave it out",
						    headers->keys[i]);
		if (!is_printable(headers->values[i]))
			return profcol_error_create(PROFCOL_CONFIG,
						    "response_headers: the value of \"%.100s\" has "
						    "control characters; write it on one line",
						    headers->keys[i]);
	}
	return NULL;
}

struct profcol_error *confighttp_server_validate(const struct confighttp_server_config *config)
{
	struct confighttp_endpoint endpoint;
	struct profcol_error *error = confighttp_endpoint_init(&endpoint, config->endpoint);

	if (!error)
		confighttp_endpoint_deinit(&endpoint);
	if (config->tls_named)
		error = profcol_error_join(error, validate_tls(&config->tls));
	if (config->auth.authenticator[0])
		error = profcol_error_join(
			error, profcol_error_create(PROFCOL_CONFIG,
						    "auth.authenticator: profcol has no "
						    "authenticators; use tls.client_ca_file to "
						    "choose who may connect"));
	if (config->middlewares.count)
		error = profcol_error_join(
			error,
			profcol_error_create(PROFCOL_CONFIG,
					     "middlewares: profcol has none; leave the key out"));
	return profcol_error_join(error, validate_headers(&config->response_headers));
}

/* ---- what they come to ---- */

/* The sooner of two timeouts, of which 0 means none. */
static uint64_t sooner(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a + b;
	return a < b ? a : b;
}

struct profcol_http_settings
confighttp_server_settings(const struct confighttp_server_config *config,
			   const struct profcol_logger *logger)
{
	const struct confighttp_tls_config *tls = &config->tls;
	struct profcol_http_settings settings = {
		.size = sizeof(settings),
		.endpoint = config->endpoint,
		.header_timeout_ns =
			sooner(config->read_timeout_ns, config->read_header_timeout_ns),
		.write_timeout_ns = config->write_timeout_ns,
		.idle_timeout_ns = config->idle_timeout_ns,
		.close_after_reply = !config->keep_alives_enabled,
		.headers = config->response_headers,
		.logger = logger,
	};

	if (!config->tls_named)
		return settings;
	settings.cert_file = tls->cert_file;
	settings.key_file = tls->key_file;
	settings.cert_pem = tls->cert_pem;
	settings.key_pem = tls->key_pem;
	settings.client_ca_file = tls->client_ca_file;
	settings.min_version = tls->min_version;
	settings.max_version = tls->max_version;
	settings.reload_interval_ns = tls->reload_interval_ns;
	if (!settings.reload_interval_ns && tls->client_ca_file_reload)
		settings.reload_interval_ns = CLIENT_CA_RELOAD_NS;
	return settings;
}

void confighttp_server_diagnose(const struct confighttp_server_config *config,
				struct profcol_findings *findings)
{
	const struct profcol_http_settings settings = confighttp_server_settings(config, NULL);
	struct profcol_error *error = findings->try_http(findings, &settings);

	if (error)
		findings_add_error(findings, "endpoint", PROFCOL_MISSING, "profcol does not start",
				   error);
	else
		findings_add_fine(findings, "endpoint", "'%s' is free", config->endpoint);
}

void confighttp_server_log_ineffective(const struct confighttp_server_config *config,
				       const struct profcol_logger *logger)
{
	const struct confighttp_tls_config *tls = &config->tls;
	const struct {
		const char *key;
		bool given;
	} keys[] = {
		{ "cors", config->cors_named },
		{ "include_metadata", config->include_metadata },
		{ "compression_algorithms", config->compression_algorithms.count },
		{ "tls::ca_file", config->tls_named && tls->ca_file[0] },
		{ "tls::ca_pem", config->tls_named && tls->ca_pem[0] },
		{ "tls::include_system_ca_certs_pool",
		  config->tls_named && tls->include_system_ca_certs_pool },
	};
	char names[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].given && length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   length ? ", " : "", keys[i].key);
	if (length)
		profcol_log_info(logger, "no effect on pages that are only read: %s", names);
}
