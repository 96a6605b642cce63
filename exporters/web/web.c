// SPDX-License-Identifier: Apache-2.0
/* The `web` exporter: keeps profiles and shows them over HTTP. See README.md. */
#include "access.h"
#include "config.h"
#include "keeper.h"

#include "base/base.h"

#include <profcol/component.h>
#include <profcol/http.h>

#include <errno.h>
#include <stdlib.h>

struct web {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct web_config *config;
	struct access *access;                  /* owned; from start on */
	struct keeper *keeper;                  /* owned; from start on */
	struct profcol_http_listener *listener; /* the host's; NULL while closed */
};

static struct profcol_error *create(const struct profcol_host *host, const void *config, void **ret)
{
	struct web *web = calloc(1, sizeof(*web));

	if (!web)
		return profcol_error_errno(ENOMEM, "create the exporter");
	web->host = host;
	web->config = config;
	*ret = web;
	return NULL;
}

static void take(void *context, struct profcol_http_call *call)
{
	struct web *web = context;

	keeper_take(web->keeper, call);
}

static struct profcol_error *listen_for_clients(struct web *web)
{
	const struct confighttp_server_config *server = &web->config->server;
	struct profcol_http_settings settings =
		confighttp_server_settings(server, web->host->logger);
	struct profcol_error *error;

	settings.take = take;
	settings.output_max_bytes = web->config->memory_bytes;
	settings.context = web;
	error = web->host->http_open(web->host, &settings, &web->listener);
	if (error)
		return error;
	confighttp_server_log_ineffective(server, web->host->logger);
	profcol_log_info(web->host->logger, "profiles are shown at %s://%s/",
			 server->tls_named ? "https" : "http", server->endpoint);
	return NULL;
}

static struct profcol_error *start(void *self)
{
	struct web *web = self;
	struct profcol_error *error =
		access_create(web->config->token_file, &web->config->hosts, &web->access);

	if (error)
		return error;
	web->keeper = keeper_create(web->host, web->config, web->access);
	if (!web->keeper)
		return profcol_error_errno(ENOMEM, "start the exporter");
	error = keeper_start(web->keeper);
	return error ? error : listen_for_clients(web);
}

static struct profcol_error *consume(void *self, struct profcol_batch *batch)
{
	struct web *web = self;

	keeper_append(web->keeper, batch);
	return NULL;
}

static struct profcol_error *shut_down(void *self, uint64_t deadline_ns)
{
	struct web *web = self;

	(void)deadline_ns; // an answer under way takes query_timeout at most
	web->host->http_close(TAKE(web->listener));
	if (web->keeper)
		keeper_stop(web->keeper);
	return NULL;
}

static void destroy(void *self)
{
	struct web *web = self;

	if (!web)
		return;
	keeper_destroy(web->keeper);
	access_destroy(web->access);
	free(web);
}

static void diagnose(const void *options, struct profcol_findings *findings)
{
	const struct web_config *config = options;
	struct access *access = NULL;
	struct profcol_error *error = access_create(config->token_file, &config->hosts, &access);

	if (error)
		findings_add_error(findings, "token_file", PROFCOL_MISSING,
				   "profcol does not start", error);
	access_destroy(access);
	confighttp_server_diagnose(&config->server, findings);
}

const struct profcol_component profcol_exporter_web = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "web",
	.summary = "keeps profiles for a while and shows them in the browser",
	.options = web_options,
	.config_size = sizeof(struct web_config),
	.validate = web_config_validate,
	.create = create,
	.start = start,
	.consume = consume,
	.shutdown = shut_down,
	.destroy = destroy,
	.diagnose = diagnose,
};
