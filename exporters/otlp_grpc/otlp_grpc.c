// SPDX-License-Identifier: Apache-2.0
/*
 * The `otlp_grpc` exporter: sends encoded profiles to an OpenTelemetry Collector, or whoever
 * else speaks OTLP over gRPC. Queue, retry and splitting are the host's.
 */
#include "base/base.h"
#include "net/net.h"

#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char export_method[] =
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

/* Version of the messages, of which there is one; peers since Collector 0.164 check it. */
static const struct net_header version_header = { "otlp-profiles-development-version", "1" };

#define CONFIG struct net_client_config

static const struct profcol_option otlp_grpc_options[] = {
	PROFCOL_OPTION_REQUIRED_STRING("endpoint", CONFIG, endpoint,
				       "HOST:PORT of the peer, or unix:///PATH; https:// in front "
				       "switches TLS on whatever tls.insecure says"),
	PROFCOL_OPTION_NESTED("tls", CONFIG, tls, net_tls_client_options,
			      "TLS is on unless tls.insecure is true"),
	PROFCOL_OPTION_ENUM(
		"compression", CONFIG, compression, "gzip", net_compression_names,
		"of requests; snappy and zstd become gzip, with a warning; \"\" is none"),
	PROFCOL_OPTION_MAP("headers", CONFIG, headers,
			   "metadata sent with each request, e.g. authorization; values are never "
			   "shown"),
	PROFCOL_OPTION_OPTIONAL("keepalive", CONFIG, keepalive, keepalive_named,
				net_keepalive_options,
				"pings on the connection; none unless this section is there"),
	PROFCOL_OPTION_ENUM("balancer_name", CONFIG, balancer, "round_robin", net_balancer_names,
			    "how requests spread over the addresses of the name; \"\" is "
			    "pick_first"),
	PROFCOL_OPTION_STRING(
		"authority", CONFIG, authority, NULL,
		":authority of requests, instead of the endpoint's; also the name that the "
		"peer's certificate has to have"),
	PROFCOL_OPTION_BOOL("wait_for_ready", CONFIG, wait_for_ready, "false",
			    "a request waits for a connection until its timeout, rather than "
			    "fail at once"),
	PROFCOL_OPTION_BYTES("read_buffer_size", CONFIG, read_buffer_bytes, "0", 0, 16 << 20,
			     "bytes read from the socket at once; 0 = gRPC's choice"),
	PROFCOL_OPTION_BYTES("write_buffer_size", CONFIG, write_buffer_bytes, "512KiB", 0, 16 << 20,
			     "bytes that gRPC may hold back for one write; 0 = gRPC's choice"),
	PROFCOL_OPTION_STRING("user_agent", CONFIG, user_agent, NULL,
			      "what we call ourselves; empty = profcol/VERSION (linux/amd64)"),
	PROFCOL_OPTION_NESTED("auth", CONFIG, auth, net_auth_options,
			      "authenticator extensions are not supported; use headers"),
	PROFCOL_OPTION_LIST("middlewares", CONFIG, middlewares, NULL,
			    "not supported: must be empty"),
	PROFCOL_OPTION_END,
};

#undef CONFIG

struct otlp_grpc_exporter {
	const struct profcol_host *host;        /* borrowed */
	const struct net_client_config *config; /* borrowed */
	struct net_client *client;              /* from start */
};

static struct profcol_error *otlp_grpc_validate(const void *options)
{
	return net_client_validate(options);
}

static void otlp_grpc_diagnose(const void *options, struct profcol_findings *findings)
{
	net_client_diagnose(options, findings);
}

static void otlp_grpc_destroy(void *self)
{
	struct otlp_grpc_exporter *exporter = self;

	if (!exporter)
		return;
	net_client_destroy(exporter->client);
	free(exporter);
}

static struct profcol_error *otlp_grpc_create(const struct profcol_host *host, const void *options,
					      void **ret)
{
	struct otlp_grpc_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	exporter->host = host;
	exporter->config = options;
	*ret = exporter;
	return NULL;
}

/* Not earlier: gRPC starts threads. */
static struct profcol_error *otlp_grpc_start(void *self)
{
	struct otlp_grpc_exporter *exporter = self;
	const struct net_client_settings settings = {
		.version = exporter->host->version,
		.headers = &version_header,
		.header_count = 1,
		.logger = exporter->host->logger,
	};

	return net_client_create(exporter->config, &settings, &exporter->client);
}

/* The host logs the error that comes back: it knows what becomes of the request. */
static struct profcol_error *otlp_grpc_send(void *self, const struct profcol_request *request,
					    struct profcol_reply *reply)
{
	struct otlp_grpc_exporter *exporter = self;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	net_client_call(exporter->client, export_method, request->bytes, request->length,
			request->deadline_ns, &answer);
	return profcol_error_prefix(net_outcome_of(request, &answer, reply), "export to '%s'",
				    exporter->config->endpoint);
}

static struct profcol_error *otlp_grpc_shutdown(void *self, uint64_t deadline_ns)
{
	struct otlp_grpc_exporter *exporter = self;

	(void)deadline_ns;
	if (exporter->client)
		net_client_cancel(exporter->client);
	return NULL;
}

static const char *const otlp_grpc_aliases[] = { "otlp", NULL };

const struct profcol_component profcol_exporter_otlp_grpc = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "otlp_grpc",
	.aliases = otlp_grpc_aliases,
	.summary = "sends profiles to an OpenTelemetry Collector over OTLP gRPC",
	.options = otlp_grpc_options,
	.config_size = sizeof(struct net_client_config),
	.validate = otlp_grpc_validate,
	.create = otlp_grpc_create,
	.start = otlp_grpc_start,
	.shutdown = otlp_grpc_shutdown,
	.destroy = otlp_grpc_destroy,
	.send = otlp_grpc_send,
	.diagnose = otlp_grpc_diagnose,
};
