// SPDX-License-Identifier: Apache-2.0
/*
 * The `otlp_http` exporter: sends encoded profiles over HTTP, to an OpenTelemetry Collector or
 * whoever else takes OTLP so. Queue, retry and splitting are the host's.
 */
#include "base/base.h"
#include "net/net.h"

#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>

#define CONFIG struct net_post_config

static const struct profcol_option otlp_http_options[] = {
	PROFCOL_OPTION_STRING("endpoint", CONFIG, http.endpoint, NULL,
			      "URL of the peer, to which /v1development/profiles is added; "
			      "https:// is TLS"),
	PROFCOL_OPTION_STRING("profiles_endpoint", CONFIG, profiles_endpoint, NULL,
			      "the whole URL, instead of endpoint"),
	PROFCOL_OPTION_STRING("traces_endpoint", CONFIG, traces_endpoint, NULL,
			      "no effect: profcol sends profiles only"),
	PROFCOL_OPTION_STRING("metrics_endpoint", CONFIG, metrics_endpoint, NULL, "no effect"),
	PROFCOL_OPTION_STRING("logs_endpoint", CONFIG, logs_endpoint, NULL, "no effect"),
	PROFCOL_OPTION_ENUM("compression", CONFIG, http.compression, "gzip",
			    net_post_compression_names,
			    "of requests; snappy, x-snappy-framed and lz4 become gzip, with a "
			    "warning; \"\" is none"),
	PROFCOL_OPTION_ENUM("encoding", CONFIG, encoding, "proto", net_post_encoding_names,
			    "of requests; json is OTLP/JSON, which takes several times the bytes "
			    "and the memory"),
	NET_HTTP_CLIENT_OPTIONS(CONFIG, http, "512KiB"),
	PROFCOL_OPTION_END,
};

#undef CONFIG

struct otlp_http_exporter {
	const struct profcol_host *host;      /* borrowed */
	const struct net_post_config *config; /* borrowed */
	struct net_poster *poster;            /* from start */
};

static struct profcol_error *otlp_http_validate(const void *options)
{
	return net_post_validate(options);
}

static void otlp_http_diagnose(const void *options, struct profcol_findings *findings)
{
	net_poster_diagnose(options, findings);
}

static void otlp_http_destroy(void *self)
{
	struct otlp_http_exporter *exporter = self;

	if (!exporter)
		return;
	net_poster_destroy(exporter->poster);
	free(exporter);
}

static struct profcol_error *otlp_http_create(const struct profcol_host *host, const void *options,
					      void **ret)
{
	struct otlp_http_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	exporter->host = host;
	exporter->config = options;
	*ret = exporter;
	return NULL;
}

/* Not earlier: it reads files. */
static struct profcol_error *otlp_http_start(void *self)
{
	struct otlp_http_exporter *exporter = self;
	const struct profcol_host *host = exporter->host;

	return net_poster_create(exporter->config, host->version, host->logger, &exporter->poster);
}

/* The host logs the error that comes back: it knows what becomes of the request. */
static struct profcol_error *otlp_http_send(void *self, const struct profcol_request *request,
					    struct profcol_reply *reply)
{
	struct otlp_http_exporter *exporter = self;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	net_poster_post(exporter->poster, request->bytes, request->length, request->deadline_ns,
			&answer);
	return profcol_error_prefix(net_outcome_of(request, &answer, reply), "export to '%s'",
				    net_poster_url(exporter->poster));
}

static struct profcol_error *otlp_http_shutdown(void *self, uint64_t deadline_ns)
{
	struct otlp_http_exporter *exporter = self;

	(void)deadline_ns;
	if (exporter->poster)
		net_poster_cancel(exporter->poster);
	return NULL;
}

static const char *const otlp_http_aliases[] = { "otlphttp", NULL };

const struct profcol_component profcol_exporter_otlp_http = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "otlp_http",
	.aliases = otlp_http_aliases,
	.summary = "sends profiles to an OpenTelemetry Collector over OTLP HTTP",
	.options = otlp_http_options,
	.config_size = sizeof(struct net_post_config),
	.validate = otlp_http_validate,
	.create = otlp_http_create,
	.start = otlp_http_start,
	.shutdown = otlp_http_shutdown,
	.destroy = otlp_http_destroy,
	.send = otlp_http_send,
	.diagnose = otlp_http_diagnose,
};
