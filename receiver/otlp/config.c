// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#define GRPC struct net_server_config

static const struct profcol_option grpc_options[] = {
	PROFCOL_OPTION_STRING("endpoint", GRPC, endpoint, "localhost:4317",
			      "HOST:PORT to listen at (0.0.0.0 = all addresses), or unix:///PATH"),
	PROFCOL_OPTION_ENUM("transport", GRPC, transport, "tcp", net_transport_names,
			    "unix: endpoint is the path of a socket"),
	PROFCOL_OPTION_NESTED("dialer", GRPC, dialer, net_dialer_options, "no effect on a server"),
	PROFCOL_OPTION_OPTIONAL("tls", GRPC, tls, tls_named, net_tls_server_options,
				"no TLS unless this section is there"),
	PROFCOL_OPTION_INT("max_recv_msg_size_mib", GRPC, max_recv_msg_size_mib, "4", 0, 2047,
			   "MiB of the largest request, before and after decompression; 0 = 4"),
	PROFCOL_OPTION_INT("max_concurrent_streams", GRPC, max_concurrent_streams, "0", 0,
			   INT32_MAX,
			   "requests that one connection may have open at once; 0 = 100"),
	PROFCOL_OPTION_BYTES("read_buffer_size", GRPC, read_buffer_bytes, "512KiB", 0, 16 << 20,
			     "bytes read from the socket at once, 64 KiB at most; 0 = that"),
	PROFCOL_OPTION_BYTES("write_buffer_size", GRPC, write_buffer_bytes, "0", 0, 16 << 20,
			     "no effect"),
	PROFCOL_OPTION_OPTIONAL("keepalive", GRPC, keepalive, keepalive_named,
				net_server_keepalive_options,
				"pings, and how long connections last"),
	PROFCOL_OPTION_BOOL("include_metadata", GRPC, include_metadata, "false",
			    "no effect: nothing here uses what clients send along"),
	PROFCOL_OPTION_NESTED("auth", GRPC, auth, net_auth_options,
			      "authenticator extensions are not supported; use client_ca_file"),
	PROFCOL_OPTION_LIST("middlewares", GRPC, middlewares, NULL, "not supported: must be empty"),
	PROFCOL_OPTION_END,
};

#undef GRPC

#define HTTP struct otlp_http_config

static const struct profcol_option http_options[] = {
	CONFIGHTTP_BODY_SERVER_OPTIONS(HTTP, server, "localhost:4318"),
	PROFCOL_OPTION_STRING("traces_url_path", HTTP, traces_path, "/v1/traces",
			      "no effect: profcol receives profiles only"),
	PROFCOL_OPTION_STRING("metrics_url_path", HTTP, metrics_path, "/v1/metrics", "no effect"),
	PROFCOL_OPTION_STRING("logs_url_path", HTTP, logs_path, "/v1/logs", "no effect"),
	PROFCOL_OPTION_END,
};

#undef HTTP

static const struct profcol_option protocols_options[] = {
	PROFCOL_OPTION_SECTION("grpc", struct otlp_protocols_config, grpc, grpc_named, grpc_options,
			       "OTLP over gRPC; may be empty"),
	PROFCOL_OPTION_SECTION("http", struct otlp_protocols_config, http, http_named, http_options,
			       "OTLP over HTTP, at /v1development/profiles; may be empty"),
	PROFCOL_OPTION_END,
};

const struct profcol_option otlp_options[] = {
	PROFCOL_OPTION_NESTED("protocols", struct otlp_config, protocols, protocols_options,
			      "what to speak: at least one"),
	PROFCOL_OPTION_END,
};

static struct profcol_error *prefix(struct profcol_error *fault, const char *key)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *owned = fault;

	return owned ? profcol_error_create(profcol_error_code(owned), "%s.%s", key,
					    profcol_error_message(owned))
		     : NULL;
}

struct profcol_error *otlp_config_validate(const struct otlp_config *config)
{
	const struct otlp_protocols_config *protocols = &config->protocols;
	struct profcol_error *error = NULL;

	if (!protocols->grpc_named && !protocols->http_named)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "must specify at least one protocol when using the "
					     "OTLP receiver; add 'protocols: {grpc: {}}'");
	if (protocols->grpc_named)
		error = prefix(net_server_validate(&protocols->grpc), "protocols.grpc");
	if (protocols->http_named)
		error = profcol_error_join(error,
					   prefix(net_http_server_validate(&protocols->http.server),
						  "protocols.http"));
	return error;
}
