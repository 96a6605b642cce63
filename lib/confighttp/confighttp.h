/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/confighttp: the settings of an HTTP server as the Collector's configurations write them
 * (its `confighttp`), for every component that serves pages. The one header that other folders
 * include. Opens nothing; any thread.
 */
#pragma once

#include <profcol/component.h>
#include <profcol/errors.h>
#include <profcol/http.h>
#include <profcol/logging.h>
#include <profcol/options.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- addresses to listen at (endpoint.c) ---- */

struct confighttp_endpoint {
	char *host; /* owned, as the next; without brackets; "" = all addresses */
	char *port; /* digits: 0 to 65535 */
};

/* Parse "HOST:PORT". CONFIG, starting with "endpoint: ". On success, the caller's to deinit. */
PROFCOL_MUST_CHECK struct profcol_error *
confighttp_endpoint_init(struct confighttp_endpoint *endpoint, const char *text);
void confighttp_endpoint_deinit(struct confighttp_endpoint *endpoint);

/* ---- names of servers (host.c) ---- */

/*
 * May a browser call this server by @host, a header Host? By localhost, an address, or one of
 * @others: a page of somebody else, whose name leads to this machine, does so by its own name. True
 * without a header.
 */
bool confighttp_is_known_host(const char *host, const struct profcol_list *others);

/* ---- the keys (options.c) ---- */

struct confighttp_tpm_config {
	bool enabled;
	const char *path, *owner_auth, *auth;
};

struct confighttp_tls_config {
	const char *cert_file, *cert_pem;
	const char *key_file, *key_pem; /* key_pem is secret */
	const char *client_ca_file;     /* clients have to show a certificate of these */
	bool client_ca_file_reload;
	const char *ca_file, *ca_pem; /* no effect on a server */
	bool include_system_ca_certs_pool;
	const char *min_version, *max_version;
	struct profcol_list cipher_suites, curve_preferences;
	bool include_insecure_cipher_suites;
	uint64_t reload_interval_ns; /* 0 = never */
	struct confighttp_tpm_config tpm;
};

struct confighttp_cors_config {
	struct profcol_list allowed_origins, allowed_headers, exposed_headers;
	int64_t max_age;
};

struct confighttp_auth_config {
	const char *authenticator;
	struct profcol_list request_params;
};

struct confighttp_server_config {
	const char *endpoint;
	int transport; /* one word, "tcp" */
	bool tls_named;
	struct confighttp_tls_config tls;
	bool cors_named;
	struct confighttp_cors_config cors;
	struct confighttp_auth_config auth;
	uint64_t max_request_body_bytes;
	bool include_metadata;
	struct profcol_map response_headers;
	struct profcol_list compression_algorithms;
	uint64_t read_timeout_ns, read_header_timeout_ns, write_timeout_ns, idle_timeout_ns;
	bool keep_alives_enabled;
	struct profcol_list middlewares;
};

extern const char *const confighttp_transport_names[];
extern const struct profcol_option confighttp_tls_options[];  /* struct confighttp_tls_config */
extern const struct profcol_option confighttp_cors_options[]; /* struct confighttp_cors_config */
/* The rows of struct confighttp_cors_config, for a server where they have an effect. */
extern const struct profcol_option confighttp_cors_server_options[];
extern const struct profcol_option confighttp_auth_options[]; /* struct confighttp_auth_config */

/*
 * Rows of the option table of struct @config, whose member @server is a struct
 * confighttp_server_config. The Collector too has these keys beside the component's own.
 */
#define CONFIGHTTP_SERVER_OPTIONS(config, server, fallback_)                                       \
	PROFCOL_OPTION_STRING("endpoint", config, server.endpoint, fallback_,                      \
			      "HOST:PORT to listen at: localhost = this machine only, no host or " \
			      "0.0.0.0 = all addresses"),                                          \
		PROFCOL_OPTION_ENUM("transport", config, server.transport, "tcp",                  \
				    confighttp_transport_names, "there is no other"),              \
		PROFCOL_OPTION_SECTION("tls", config, server.tls, server.tls_named,                \
				       confighttp_tls_options,                                     \
				       "no TLS unless this section is there"),                     \
		PROFCOL_OPTION_DURATION("read_timeout", config, server.read_timeout_ns, "0s", 0,   \
					0, "for sending a request; 0 = read_header_timeout"),      \
		PROFCOL_OPTION_DURATION("read_header_timeout", config,                             \
					server.read_header_timeout_ns, "10s", 0, 0,                \
					"for sending a request, the sooner of both; 0 = 10s"),     \
		PROFCOL_OPTION_DURATION("write_timeout", config, server.write_timeout_ns, "30s",   \
					0, 0, "for taking a reply; 0 = 30s"),                      \
		PROFCOL_OPTION_DURATION("idle_timeout", config, server.idle_timeout_ns, "60s", 0,  \
					0,                                                         \
					"how long a connection may wait for its next request; 0 "  \
					"= 60s"),                                                  \
		PROFCOL_OPTION_BOOL("keep_alives_enabled", config, server.keep_alives_enabled,     \
				    "true", "several requests on one connection"),                 \
		PROFCOL_OPTION_MAP("response_headers", config, server.response_headers,            \
				   "added to each reply"),                                         \
		PROFCOL_OPTION_SECTION("cors", config, server.cors, server.cors_named,             \
				       confighttp_cors_options,                                    \
				       "no effect: no other origin's scripts may read the "        \
				       "replies"),                                                 \
		PROFCOL_OPTION_NESTED("auth", config, server.auth, confighttp_auth_options,        \
				      "not supported: authenticator must be empty"),               \
		PROFCOL_OPTION_BYTES("max_request_body_size", config,                              \
				     server.max_request_body_bytes, "20MiB", 0, 0,                 \
				     "no effect: requests with a body are refused"),               \
		PROFCOL_OPTION_BOOL("include_metadata", config, server.include_metadata, "false",  \
				    "no effect"),                                                  \
		PROFCOL_OPTION_LIST("compression_algorithms", config,                              \
				    server.compression_algorithms, NULL, "no effect"),             \
		PROFCOL_OPTION_LIST("middlewares", config, server.middlewares, NULL,               \
				    "not supported: must be empty")

/* The rows as above, for a server that takes bodies (lib/net). */
#define CONFIGHTTP_BODY_SERVER_OPTIONS(config, server, fallback_)                                  \
	PROFCOL_OPTION_STRING("endpoint", config, server.endpoint, fallback_,                      \
			      "HOST:PORT to listen at; no host or 0.0.0.0 = all addresses"),       \
		PROFCOL_OPTION_ENUM("transport", config, server.transport, "tcp",                  \
				    confighttp_transport_names, "there is no other"),              \
		PROFCOL_OPTION_SECTION("tls", config, server.tls, server.tls_named,                \
				       confighttp_tls_options,                                     \
				       "no TLS unless this section is there"),                     \
		PROFCOL_OPTION_SECTION(                                                            \
			"cors", config, server.cors, server.cors_named,                            \
			confighttp_cors_server_options,                                            \
			"which other origins' scripts may send, and read the answers"),            \
		PROFCOL_OPTION_NESTED("auth", config, server.auth, confighttp_auth_options,        \
				      "not supported: authenticator must be empty"),               \
		PROFCOL_OPTION_BYTES(                                                              \
			"max_request_body_size", config, server.max_request_body_bytes, "20MiB",   \
			0, INT32_MAX,                                                              \
			"of the largest request, before and after decompression; 0 = 20MiB"),      \
		PROFCOL_OPTION_BOOL("include_metadata", config, server.include_metadata, "false",  \
				    "no effect: nothing here uses what clients send along"),       \
		PROFCOL_OPTION_MAP("response_headers", config, server.response_headers,            \
				   "added to each answer; 32 at most"),                            \
		PROFCOL_OPTION_LIST("compression_algorithms", config,                              \
				    server.compression_algorithms, NULL,                           \
				    "no effect: gzip, zstd, deflate and zlib are taken"),          \
		PROFCOL_OPTION_DURATION("read_timeout", config, server.read_timeout_ns, "0s", 0,   \
					0, "for sending a body; 0 = 1m"),                          \
		PROFCOL_OPTION_DURATION("read_header_timeout", config,                             \
					server.read_header_timeout_ns, "1m", 0, 0,                 \
					"for sending the head of a request; 0 = 10s"),             \
		PROFCOL_OPTION_DURATION("write_timeout", config, server.write_timeout_ns, "30s",   \
					0, 0, "for taking an answer; 0 = 1m"),                     \
		PROFCOL_OPTION_DURATION(                                                           \
			"idle_timeout", config, server.idle_timeout_ns, "1m", 0, 0,                \
			"how long a connection may wait for its next request; 0 = 1m"),            \
		PROFCOL_OPTION_BOOL("keep_alives_enabled", config, server.keep_alives_enabled,     \
				    "true", "several requests on one connection"),                 \
		PROFCOL_OPTION_LIST("middlewares", config, server.middlewares, NULL,               \
				    "not supported: must be empty")

/* ---- what they mean (server.c) ---- */

/* What the table cannot say. CONFIG, each message starting with its key. */
PROFCOL_MUST_CHECK struct profcol_error *
confighttp_server_validate(const struct confighttp_server_config *config);

/* Everything but handle and context, as profcol_host.http_open takes it. The texts are @config's;
 * @logger is borrowed as http.h says. */
struct profcol_http_settings
confighttp_server_settings(const struct confighttp_server_config *config,
			   const struct profcol_logger *logger);

/* For profcol_component.diagnose: can the address be listened at, the TLS files be used? */
void confighttp_server_diagnose(const struct confighttp_server_config *config,
				struct profcol_findings *findings);

/* One line that names the keys that are given and do nothing, if there are any. */
void confighttp_server_log_ineffective(const struct confighttp_server_config *config,
				       const struct profcol_logger *logger);
