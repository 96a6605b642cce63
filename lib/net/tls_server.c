// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TLS struct net_tls_server_config

enum { CLIENT_CA_RELOAD_NS = 1000000000 };

const struct profcol_option net_tls_server_options[] = {
	PROFCOL_OPTION_STRING("cert_file", TLS, cert_file, NULL,
			      "PEM file of the server's certificate and its chain"),
	PROFCOL_OPTION_STRING("cert_pem", TLS, cert_pem, NULL, "the same as text"),
	PROFCOL_OPTION_STRING("key_file", TLS, key_file, NULL,
			      "PEM file of the key of that certificate, without a password"),
	PROFCOL_OPTION_SECRET("key_pem", TLS, key_pem, "the same as text"),
	PROFCOL_OPTION_STRING("client_ca_file", TLS, client_ca_file, NULL,
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
			      "gRPC offers 1.2 and 1.3: must be 1.2"),
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

struct tls_server {
	const struct net_tls_server_config *config; /* borrowed */
	const struct profcol_logger *logger;        /* borrowed */

	pthread_mutex_t lock;         /* guards what follows */
	struct tls_material material; /* handed out once, then empty */
	struct tls_stamp stamp;       /* of the files it is from */
	bool handed_out;
	uint64_t reload_after_ns; /* CLOCK_MONOTONIC */
};

struct profcol_error *tls_server_validate(const struct net_tls_server_config *config)
{
	const struct tls_pair_config pair = { config->cert_file, config->cert_pem, config->key_file,
					      config->key_pem };
	const struct tls_choices choices = {
		.min_version = config->min_version,
		.max_version = config->max_version,
		.cipher_suites = config->cipher_suites.count,
		.curve_preferences = config->curve_preferences.count,
		.insecure_cipher_suites = config->include_insecure_cipher_suites,
		.tpm = config->tpm.enabled,
	};
	struct profcol_error *error = tls_validate_pair(&pair);

	if (!error && !config->cert_file[0] && !config->cert_pem[0])
		error = profcol_error_create(PROFCOL_CONFIG,
					     "tls.cert_file: a server needs a certificate and its "
					     "key; set cert_file and key_file, or leave tls out");
	return error ? error : tls_refuse_unsupported(&choices);
}

static struct profcol_error *tls_server_load(const struct net_tls_server_config *config,
					     struct tls_material *material)
{
	const struct tls_pair_config pair = { config->cert_file, config->cert_pem, config->key_file,
					      config->key_pem };
	struct profcol_error *error;
	char label[384];

	*material = (struct tls_material){ 0 };
	error = tls_load_pair(&pair, material);
	if (!error)
		error = tls_read_text("tls.client_ca_file", config->client_ca_file, "",
				      &material->roots);
	if (!error && material->roots) {
		tls_print_label(label, sizeof(label), "client_ca", config->client_ca_file);
		error = tls_check_certificates(label, material->roots);
	}
	if (error)
		tls_material_deinit(material);
	return error;
}

/* Of the files that may change while we run. */
static struct tls_stamp tls_server_stamp(const struct net_tls_server_config *config)
{
	bool reloads = config->reload_interval_ns > 0;
	const char *const paths[] = {
		config->client_ca_file_reload ? config->client_ca_file : "",
		reloads ? config->cert_file : "",
		reloads ? config->key_file : "",
	};

	return tls_stamp_files(paths);
}

static uint64_t tls_server_interval(const struct net_tls_server_config *config)
{
	if (config->reload_interval_ns)
		return config->reload_interval_ns;
	return config->client_ca_file_reload ? CLIENT_CA_RELOAD_NS : 0;
}

/* Under the lock: read the files if they have changed. Is there anything new? */
static bool tls_server_refresh(struct tls_server *server)
{
	uint64_t interval_ns = tls_server_interval(server->config), now = clock_monotonic_ns();
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct tls_stamp stamp;

	if (!server->handed_out)
		return true;
	if (!interval_ns || now < server->reload_after_ns)
		return false;
	server->reload_after_ns = now + interval_ns;
	stamp = tls_server_stamp(server->config);
	if (tls_stamp_equal(&stamp, &server->stamp))
		return false;
	// Also when it fails: the same files are not tried, and complained of, again.
	server->stamp = stamp;
	error = tls_server_load(server->config, &server->material);
	if (error)
		profcol_log_warn(server->logger,
				 "cannot use the changed TLS files: %s; going on with the old ones",
				 profcol_error_message(error));
	else
		profcol_log_info(server->logger, "the TLS files have changed and are in use");
	return !error;
}

/* gRPC asks before each handshake. */
static grpc_ssl_certificate_config_reload_status
tls_server_fetch(void *user_data, grpc_ssl_server_certificate_config **ret)
{
	struct tls_server *server = user_data;
	grpc_ssl_pem_key_cert_pair pair;
	const char *roots;

	pthread_mutex_lock(&server->lock);
	if (!tls_server_refresh(server)) {
		pthread_mutex_unlock(&server->lock);
		return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
	}
	pair = (grpc_ssl_pem_key_cert_pair){ .private_key = server->material.key,
					     .cert_chain = server->material.certificate };
	// gRPC asserts that a change comes with authorities, also where it asks clients for nothing
	// and so has no use for them.
	roots = server->material.roots ? server->material.roots : server->material.certificate;
	*ret = grpc_ssl_server_certificate_config_create(roots, &pair, 1);
	server->handed_out = true;
	tls_material_deinit(&server->material);
	pthread_mutex_unlock(&server->lock);
	return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

struct profcol_error *tls_server_create(const struct net_tls_server_config *config,
					const struct profcol_logger *logger,
					struct tls_server **ret,
					grpc_server_credentials **credentials_ret)
{
	struct tls_server *server = calloc(1, sizeof(*server));
	grpc_ssl_server_credentials_options *options;
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "tls");
	server->config = config;
	server->logger = logger;
	pthread_mutex_init(&server->lock, NULL);
	// Stamped first: a change while we read is seen the next time.
	server->stamp = tls_server_stamp(config);
	server->reload_after_ns = clock_monotonic_ns() + tls_server_interval(config);
	error = tls_server_load(config, &server->material);
	if (error) {
		tls_server_destroy(server);
		return error;
	}
	options = grpc_ssl_server_credentials_create_options_using_config_fetcher(
		config->client_ca_file[0]
			? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
			: GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		tls_server_fetch, server);
	*credentials_ret = grpc_ssl_server_credentials_create_with_options(options);
	*ret = server;
	return NULL;
}

void tls_server_destroy(struct tls_server *server)
{
	if (!server)
		return;
	tls_material_deinit(&server->material);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
