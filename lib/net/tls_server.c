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

/* Files that are used together, and whether they are looked at again. */
struct tls_watch {
	const char *paths[TLS_STAMP_FILES]; /* borrowed */
	/* Reads and checks them: the caller's to deinit, on error too. */
	struct profcol_error *(*load)(const struct net_tls_server_config *config,
				      struct tls_material *material);
	uint64_t interval_ns;           /* 0 = never */
	uint64_t after_ns;              /* CLOCK_MONOTONIC */
	struct tls_stamp stamp;         /* of what is in use */
	struct tls_complaint complaint; /* of what is not */
};

struct tls_server {
	const struct net_tls_server_config *config; /* borrowed */
	const struct profcol_logger *logger;        /* borrowed */

	pthread_mutex_t lock;         /* guards what follows */
	struct tls_material material; /* in use: a change of one part goes to gRPC with the rest */
	/* Apart: an authority that is removed does not wait for a certificate that is unusable. */
	struct tls_watch pair, roots;
	bool handed_out;
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

static struct profcol_error *tls_server_load_pair(const struct net_tls_server_config *config,
						  struct tls_material *material)
{
	const struct tls_pair_config pair = { config->cert_file, config->cert_pem, config->key_file,
					      config->key_pem };

	return tls_load_pair(&pair, material);
}

static struct profcol_error *tls_server_load_roots(const struct net_tls_server_config *config,
						   struct tls_material *material)
{
	struct profcol_error *error;
	char label[384];

	error = tls_read_text("tls.client_ca_file", config->client_ca_file, "", &material->roots);
	if (error || !material->roots)
		return error;
	tls_print_label(label, sizeof(label), "client_ca", config->client_ca_file);
	return tls_check_certificates(label, material->roots);
}

struct profcol_error *tls_server_probe(const struct net_tls_server_config *config)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	struct profcol_error *error = tls_server_load_pair(config, &material);

	return error ? error : tls_server_load_roots(config, &material);
}

static void text_swap(char **first, char **second)
{
	char *text = *first;

	*first = *second;
	*second = text;
}

/* What @fresh has goes into use, and what it replaces into @fresh. */
static void tls_server_use(struct tls_server *server, struct tls_material *fresh)
{
	if (fresh->roots)
		text_swap(&server->material.roots, &fresh->roots);
	if (fresh->certificate) {
		text_swap(&server->material.certificate, &fresh->certificate);
		text_swap(&server->material.key, &fresh->key);
	}
}

/* Read the files for the first time. */
static struct profcol_error *tls_watch_start(struct tls_server *server, struct tls_watch *watch)
{
	CLEANUP(tls_material_deinit) struct tls_material fresh = { 0 };
	struct profcol_error *error;

	// Stamped first: a change while we read is seen the next time.
	watch->stamp = tls_stamp_files(watch->paths);
	watch->after_ns = clock_monotonic_ns() + watch->interval_ns;
	error = watch->load(server->config, &fresh);
	if (!error)
		tls_server_use(server, &fresh);
	return error;
}

/* Under the lock: read the files if they have changed. Is there anything new? */
static bool tls_watch_refresh(struct tls_server *server, struct tls_watch *watch)
{
	CLEANUP(tls_material_deinit) struct tls_material fresh = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	uint64_t now = clock_monotonic_ns();
	struct tls_stamp stamp;

	if (!watch->interval_ns || now < watch->after_ns)
		return false;
	watch->after_ns = now + watch->interval_ns;
	stamp = tls_stamp_files(watch->paths);
	if (tls_stamp_equal(&stamp, &watch->stamp)) {
		watch->complaint.made = false;
		return false;
	}
	error = watch->load(server->config, &fresh);
	if (error) {
		// The stamp stays: not every fault, such as too many open files, leaves the files
		// different when it is over.
		if (tls_complaint_is_new(&watch->complaint, &stamp, profcol_error_message(error)))
			profcol_log_warn(server->logger,
					 "cannot use the changed TLS files: %s; going on with the "
					 "old ones",
					 profcol_error_message(error));
		return false;
	}
	watch->stamp = stamp;
	watch->complaint.made = false;
	tls_server_use(server, &fresh);
	profcol_log_info(server->logger, "the TLS files have changed and are in use");
	return true;
}

/* Under the lock: is there anything that gRPC has not got? */
static bool tls_server_refresh(struct tls_server *server)
{
	bool pair = tls_watch_refresh(server, &server->pair);
	bool roots = tls_watch_refresh(server, &server->roots);

	return pair || roots || !server->handed_out;
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
	server->pair = (struct tls_watch){
		.paths = { config->cert_file, config->key_file, "" },
		.load = tls_server_load_pair,
		.interval_ns = config->reload_interval_ns,
	};
	server->roots = (struct tls_watch){
		.paths = { config->client_ca_file, "", "" },
		.load = tls_server_load_roots,
		.interval_ns = config->client_ca_file_reload ? CLIENT_CA_RELOAD_NS : 0,
	};
	error = tls_watch_start(server, &server->pair);
	if (!error)
		error = tls_watch_start(server, &server->roots);
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
